export const settings = {
  title: '设置',
};
