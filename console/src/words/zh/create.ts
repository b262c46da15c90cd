export const create = {
  title: '创建训练任务',
};
