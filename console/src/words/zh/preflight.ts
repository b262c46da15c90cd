export const preflight = {
  title: '预检',
  about: '启动前先看所选环境是否合得来',
  environments: '要检查的开发环境',
  none: '还没有开发环境',
  noneHint: '在任意一台机器上运行：',
  choose: '至少选择一个开发环境',
  findings: '检查结果',
  ready: '未发现问题',
  readyHint: '服务器对所选环境没有警告。',
  versions: '版本差异',
  versionsNote: '与多数不同的值以橙色标出',
  component: '组件',
  unknown: '未知',
  matrix: '节点间延迟与带宽',
  matrixText:
    '服务器目前不测量节点之间的延迟与带宽，所以这里没有矩阵。分组的“检查节点”会真实询问各节点能否解析并连到主节点；在节点上也可以运行：',
  toGroups: '前往分组检查',
};
