export const training = {
  title: '训练任务',
};
