// The commands of the command line that call the operations with the examples of the API document.

/** A command for each operation that has one. The tests run each of them. */
export const COMMANDS: Record<string, string> = {
  snapshot: "snapshotter snapshot create @notebook --label 'before the refactoring'",
  restore: "snapshotter restore @notebook 'before the refactoring'",
  branch: "snapshotter branch @notebook 'before the refactoring'",
  revive: 'snapshotter revive agent-42 --on-diverged rescue',
  list: 'snapshotter snapshot list @notebook --limit 20',
  manifest: "snapshotter snapshot show @notebook 'before the refactoring'",
  verify: "snapshotter snapshot verify @notebook 'before the refactoring'",
  label: `snapshotter snapshot label @notebook 'after the refactoring' \\
  --to 'version 1'`,
  pin: "snapshotter snapshot pin @notebook 'before the refactoring'",
  unpin: "snapshotter snapshot unpin @notebook 'before the refactoring'",
  delete: 'snapshotter snapshot delete agent-42 snap-65kq30vt80wqsf5t --yes',
  import: `snapshotter snapshot import agent-42 \\
  --backup handle.json \\
  --label nightly`,
  lineage: 'snapshotter lineage @notebook',
  retention: 'snapshotter retention show agent-42',
  setRetention: `snapshotter retention set agent-42 \\
  --keep-last 10 \\
  --keep-daily 7 \\
  --expires 30d \\
  --yes`,
  applyRetention: 'snapshotter retention plan agent-42',
  rotateKey: 'snapshotter key rotate agent-42 --yes',
  exec: `snapshotter exec @notebook --timeout 10m --no-stdin \\
  "echo 'first draft' | tee notes.txt"`,
  'commands/start': 'snapshotter exec @notebook --detach --timeout 2h npm run dev',
  'commands/list': 'snapshotter commands list @notebook',
  'commands/output': 'snapshotter commands output @notebook vtriondw',
  'commands/end': 'snapshotter commands end @notebook vtriondw',
  sweep: 'snapshotter sweep --dry-run',
  'tokens/create': `snapshotter tokens create --permission snapshot,work \\
  --workspace notebook --label 'CI of the notebook'`,
  'tokens/list': 'snapshotter tokens list',
  'tokens/revoke': 'snapshotter tokens revoke 4zzgk68b2lxp',
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
  --back-to snap-l7cha5nq3wi7xhsj`,
  'workspaces/migrate': 'snapshotter workspace migrate notebook --runtime container',
  'workspaces/delete': 'snapshotter workspace delete website --yes',
  'checkpoints/create': `snapshotter checkpoint create @notebook tests-pass \\
  --message 'All tests pass'`,
  'checkpoints/list': 'snapshotter checkpoint list @notebook',
  'checkpoints/restore': 'snapshotter checkpoint restore @notebook tests-pass --yes',
  diff: "snapshotter diff @notebook 'before the refactoring'",
  'files/list': "snapshotter ls @notebook 'before the refactoring'",
  'files/summary': "snapshotter du @notebook 'before the refactoring'",
  'files/stat': "snapshotter stat @notebook 'before the refactoring' notes.txt",
  'files/read': "snapshotter cat @notebook 'before the refactoring' notes.txt",
  'files/restore': `snapshotter restore-files @notebook 'before the refactoring' notes.txt \\
  --overwrite`,
  usage: 'snapshotter usage --instance-type standard-1',
  'checkpoints/delete': 'snapshotter checkpoint delete @notebook tests-pass',
  'checkpoints/diff': 'snapshotter checkpoint diff @notebook tests-pass',
  health: 'snapshotter doctor',
};

/** The files that the commands read, with the option of the operation that each contains. */
export const FILES: Record<string, string> = { 'handle.json': 'backup' };
