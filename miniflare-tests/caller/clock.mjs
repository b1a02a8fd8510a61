// The snapshotter's Worker, whose clock the tests can put forward: alarms that are due then come at once. And whose objects
// can be looked into, and ended. The sandboxes must be another Worker's, which goes by the true time; the snapshotter sees
// their containers older by as much as its clock was put forward.

import Snapshotter, { Workspace as Real } from '../../src/entry.mjs';

export { ContainerProxy, Sandbox } from '../../src/entry.mjs';

const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;

const PASSING = `
  SELECT 'snapshot ' || record AS what FROM snapshots WHERE state IN ('making', 'deleting')
  UNION ALL SELECT 'sandbox ' || record FROM derivations WHERE settled = 0
  UNION ALL SELECT 'call ' || record FROM requests WHERE answered = 0
  UNION ALL SELECT 'word ' || record FROM releases`;

/** An object whose methods `replace` may replace. */
function replacing(object, replace) {
  const get = (target, key) => {
    const value = Reflect.get(target, key);
    if (typeof value !== 'function' || key === 'constructor') return value;
    return (...list) => (replace[key] ?? ((call) => call()))(() => target[key](...list));
  };
  return new Proxy(object, { get: (target, key) => get(target, key) });
}

/** A sandbox whose uptime goes by the clock, as the first number that a command prints. */
const aged = (call) =>
  replacing(call(), {
    execWithSessionToken: async (run) => {
      const outcome = await run();
      const older = (uptime) => (Number(uptime) + ahead / 1000).toFixed(2);
      return { ...outcome, stdout: outcome.stdout.replace(/^\d+\.\d\d(?= \d+ [a-z]+ [01]$)/m, older) };
    },
  });

export class Workspace extends Real {
  constructor(ctx, env) {
    super(ctx, { ...env, Sandbox: replacing(env.Sandbox, { get: aged, getByName: aged }) });
  }

  async elapse(seconds) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      // By the ledger: the runtime knows of none while one is going off.
      const [due] = this.ctx.storage.sql.exec('SELECT alarm_at AS at FROM workspace');
      if (!due?.at || due.at > end) break;
      ahead += Math.max(0, due.at - Date.now());
      await this.alarm();
    }
    ahead += end - Date.now();
  }

  passing() {
    return [...this.ctx.storage.sql.exec(PASSING)].map(({ what }) => what);
  }

  alarmAt() {
    return this.ctx.storage.getAlarm();
  }

  end() {
    this.ctx.abort('ended by a test');
  }

  async endInAlarm() {
    void this.alarm();
    await this.ctx.storage.sync();
    this.end();
  }
}

export default class extends Snapshotter {
  #workspace({ sandboxId }) {
    return this.env.Workspace.getByName(sandboxId);
  }

  /** Lets time pass; the workspace of the sandbox lives through it from alarm to alarm. */
  elapse(options) {
    return this.#workspace(options).elapse(options.seconds);
  }

  /** Goes back to the true time. */
  trueTime() {
    ahead = 0;
  }

  /** The rows of the sandbox's ledger that are in a passing state. */
  passing(options) {
    return this.#workspace(options).passing();
  }

  /** Ends the object of the sandbox's workspace, as a deployment does: the next call starts another one. */
  async end(options) {
    await this.#workspace(options).end();
  }

  alarmAt(options) {
    return this.#workspace(options).alarmAt();
  }

  /** Ends the object in the middle of its alarm. */
  async endInAlarm(options) {
    await this.#workspace(options).endInAlarm();
  }
}
