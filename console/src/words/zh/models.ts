export const models = {
  title: '模型',
};
