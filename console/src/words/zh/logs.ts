export const logs = {
  title: '日志',
};
