export const planner = {
  title: '规划',
};
