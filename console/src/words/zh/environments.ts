export const environments = {
  title: '开发环境',
};
