export const datasets = {
  title: '数据集',
};
