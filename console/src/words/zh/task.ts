export const task = {
  title: '训练任务',
};
