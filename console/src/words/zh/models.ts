export const models = {
  title: '模型',
  create: '登记模型',
  search: '搜索模型',
  nameHint: '名称与规划器目录一致时（如 llama2-7b），创建任务时会给出显存与策略建议',
  pathHint: '每个节点都能访问的路径，例如 /models/llama2-7b',
  created: '模型登记成功',
  delete: '删除模型',
  deleteText: (name: string) => `删除模型“${name}”？其文件不会被删除。`,
  deleted: '模型已删除',
  empty: '还没有模型',
  emptyHint: '登记一个，或在终端中运行：',
  noVersions: '模型目前没有版本：每个条目是一个路径。',
};
