export const groups = {
  title: '分组',
};
