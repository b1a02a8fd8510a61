// The guides to operations, each with the heading of the part.

/** The guide to an operation. */
export interface OperationGuide {
  file: string;
  heading?: string;
}

const guide = (page: string, heading?: string): OperationGuide => ({
  file: `docs/${page}.md`,
  ...(heading && { heading }),
});

/** The guides by operations, and those of groups of operations, whose names end in a slash. */
export const GUIDES: Record<string, OperationGuide> = {
  snapshot: guide('snapshots', 'Take a snapshot'),
  restore: guide('snapshots', 'Restore and branch'),
  branch: guide('snapshots', 'Restore and branch'),
  revive: guide('snapshots', 'Revive a sandbox'),
  list: guide('snapshots', 'List and inspect snapshots'),
  get: guide('snapshots', 'List and inspect snapshots'),
  manifest: guide('snapshots', 'List and inspect snapshots'),
  verify: guide('snapshots', 'List and inspect snapshots'),
  lineage: guide('snapshots', 'List and inspect snapshots'),
  diff: guide('files', 'Compare two snapshots'),
  label: guide('snapshots', 'Label and pin'),
  pin: guide('snapshots', 'Label and pin'),
  unpin: guide('snapshots', 'Label and pin'),
  delete: guide('snapshots', 'Delete a snapshot'),
  import: guide('snapshots', 'Import a backup'),
  retention: guide('snapshots', 'Expire snapshots'),
  setRetention: guide('snapshots', 'Expire snapshots'),
  applyRetention: guide('snapshots', 'Expire snapshots'),
  rotateKey: guide('snapshots', 'Rotate the signing key'),
  usage: guide('usage'),
  exec: guide('commands'),
  'commands/': guide('background-commands'),
  sweep: guide('operations', 'The sweep'),
  health: guide('observability', 'Health'),
  'workspaces/create': guide('workspaces', 'Create a workspace'),
  'workspaces/getOrCreate': guide('workspaces', 'Create a workspace'),
  'workspaces/start': guide('workspaces', 'Start a workspace'),
  'workspaces/stop': guide('workspaces', 'Stop a workspace'),
  'workspaces/fork': guide('workspaces', 'Fork a workspace'),
  'workspaces/promote': guide('workspaces', 'Fork three, keep the best'),
  'workspaces/update': guide('workspaces', 'Move back to an earlier snapshot'),
  'workspaces/migrate': guide('workspaces', 'Move to another runtime'),
  'workspaces/turnEnded': guide('autosave', "After an agent's turn"),
  'workspaces/delete': guide('workspaces', 'Delete a workspace'),
  'workspaces/': guide('workspaces'),
  'checkpoints/restore': guide('checkpoints', 'Restore'),
  'checkpoints/': guide('checkpoints'),
  'files/restore': guide('files', 'Restore files and directories'),
  '/files/': guide('files', 'Download files'),
  'files/list': guide('files'),
  'files/stat': guide('files'),
  'files/read': guide('files'),
  'files/summary': guide('files', 'What takes the space'),
  'files/': guide('sandbox-files'),
  'tools/': guide('tools'),
  '/mcp': guide('mcp'),
  'tokens/': guide('tokens'),
};

/** Returns the guide of an operation, if there is one. */
export function guideOf(name: string): OperationGuide | undefined {
  return GUIDES[name] ?? GUIDES[name.slice(0, name.lastIndexOf('/') + 1)];
}
