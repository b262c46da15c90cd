export const preflight = {
  title: '预检',
};
