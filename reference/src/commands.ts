// The commands of the command line that call the operations with the examples of the API document.

/** A command for each operation that has one. The tests run each of them. */
export const COMMANDS: Record<string, string> = {
  snapshot: `snapshotter snapshot create agent-42 \\
  --label 'before the refactoring' \\
  --exclude node_modules \\
  --idempotency-key 5f0c1ad2-7f5b-4f0e-9d57-0d1c8b6f3a11`,
  restore: "snapshotter restore agent-42 'before the refactoring'",
  branch: "snapshotter branch agent-42 'before the refactoring'",
  revive: 'snapshotter revive agent-42 --on-diverged rescue',
  list: 'snapshotter snapshot list agent-42 --limit 20',
  manifest: "snapshotter snapshot show agent-42 'before the refactoring'",
  verify: "snapshotter snapshot verify agent-42 'before the refactoring'",
  label: `snapshotter snapshot label agent-42 'before the refactoring' \\
  --to 'version 1'`,
  pin: "snapshotter snapshot pin agent-42 'before the refactoring'",
  unpin: "snapshotter snapshot unpin agent-42 'before the refactoring'",
  delete: 'snapshotter snapshot delete agent-42 snap-65kq30vt80wqsf5t --yes',
  import: `snapshotter snapshot import agent-42 \\
  --backup handle.json \\
  --label nightly`,
  lineage: 'snapshotter lineage agent-42',
  retention: 'snapshotter retention show agent-42',
  setRetention: `snapshotter retention set agent-42 \\
  --keep-last 10 \\
  --keep-daily 7 \\
  --expires 30d \\
  --yes`,
  applyRetention: 'snapshotter retention plan agent-42',
  rotateKey: 'snapshotter key rotate agent-42 --yes',
  exec: "snapshotter exec @notebook --timeout 10m --no-stdin 'npm test'",
  'commands/start': 'snapshotter exec agent-42 --detach --timeout 2h npm run dev',
  'commands/list': 'snapshotter commands list agent-42',
  'commands/output': 'snapshotter commands output agent-42 66tzym19',
  'commands/end': 'snapshotter commands end agent-42 66tzym19',
  sweep: 'snapshotter sweep --dry-run',
  'tokens/create': `snapshotter tokens create --permission snapshot,work \\
  --workspace notebook --label 'CI of the notebook'`,
  'tokens/list': 'snapshotter tokens list',
  'tokens/revoke': 'snapshotter tokens revoke 7ommce9uacrh',
  'tokens/current': 'snapshotter tokens current',
  'workspaces/create': `snapshotter workspace create website \\
  --env NODE_ENV=development \\
  --idle 15m \\
  --autosave-every 5m \\
  --autosave-after-turn true \\
  --after-start '[ ! -f package.json ] || npm ci'`,
  'workspaces/getOrCreate': 'snapshotter workspace create notebook --or-start',
  'workspaces/getByName': 'snapshotter workspace show notebook',
  'workspaces/list': 'snapshotter workspace list --limit 20',
  'workspaces/start': 'snapshotter workspace start notebook',
  'workspaces/stop': 'snapshotter workspace stop notebook',
  'workspaces/turnEnded': 'snapshotter workspace turn-ended website',
  'workspaces/fork': 'snapshotter workspace fork notebook --new-name experiment',
  'workspaces/promote': `snapshotter workspace promote notebook --from experiment \\
  --idempotency-key keep-the-experiment`,
  'workspaces/update': `snapshotter workspace update notebook \\
  --back-to snap-b3ui2bhi38fhyuy1`,
  'workspaces/migrate': 'snapshotter workspace migrate notebook --runtime container',
  'workspaces/delete': 'snapshotter workspace delete notebook --yes',
  'checkpoints/create': `snapshotter checkpoint create agent-42 tests-pass \\
  --message 'All tests pass'`,
  'checkpoints/list': 'snapshotter checkpoint list agent-42',
  'checkpoints/restore': 'snapshotter checkpoint restore agent-42 tests-pass --yes',
  diff: "snapshotter diff agent-42 'before the refactoring' 'after the refactoring'",
  'files/list': "snapshotter ls agent-42 'before the refactoring'",
  'files/summary': "snapshotter du agent-42 'before the refactoring'",
  'files/stat': "snapshotter stat agent-42 'before the refactoring' notes.txt",
  'files/read': "snapshotter cat agent-42 'before the refactoring' notes.txt",
  'files/restore': `snapshotter restore-files agent-42 'before the refactoring' notes.txt \\
  --to agent-42 --overwrite`,
  usage: 'snapshotter usage --instance-type standard-1',
  'checkpoints/delete': 'snapshotter checkpoint delete agent-42 tests-pass',
  'checkpoints/diff': 'snapshotter checkpoint diff agent-42 tests-pass',
  health: 'snapshotter doctor',
};

/** The files that the commands read, with the option of the operation that each contains. */
export const FILES: Record<string, string> = { 'handle.json': 'backup' };
