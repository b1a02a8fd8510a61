// The snapshotter's Worker, whose clock the tests can put forward: alarms and time limits that are due then come at once. And
// whose objects can be looked into, and ended, whose Directories can be down, and whose sandboxes can leave calls unanswered. The
// sandboxes must be another Worker's, which goes by the true time; the snapshotter sees their containers older by as much as
// its clock was put forward.

import Snapshotter, { NamedWorkspace as RealNamed, Workspace as Real } from '../../src/entry.mjs';

export { ContainerProxy, Directory, Sandbox } from '../../src/entry.mjs';

const now = Date.now;
let ahead = 0;
Date.now = () => now() + ahead;

/** Puts the clock forward, by hundredths of a second: the uptime of a system is counted in those. */
function putForwardTo(at) {
  ahead += Math.max(0, Math.ceil((at - Date.now()) / 10) * 10);
}

/** From how many milliseconds on a timer goes by the clock: those are time limits. */
const LONG = 30_000;
const { setTimeout, setInterval } = globalThis;
globalThis.setTimeout = (passed, millis, ...list) => {
  if (!(millis >= LONG)) return setTimeout(passed, millis, ...list);
  const due = Date.now() + millis;
  const timer = setInterval(() => {
    if (Date.now() < due) return;
    clearInterval(timer);
    passed(...list);
  }, 10);
  return timer;
};

const PASSING = `
  SELECT 'snapshot ' || record AS what FROM snapshots WHERE state IN ('creating', 'deleting')
  UNION ALL SELECT 'sandbox ' || record FROM derivations WHERE settled = 0
  UNION ALL SELECT 'call ' || record FROM requests WHERE answered = 0
  UNION ALL SELECT 'word ' || record FROM releases
  UNION ALL SELECT 'container ' || record FROM workspace WHERE record ->> '$.binding.restoreTask' IS NOT NULL`;

const PASSING_NAMED = `
  SELECT 'named ' || record AS what FROM home WHERE record ->> '$.state' IN ('provisioning', 'stopping', 'restoring')
    OR record ->> '$.tasks' != '[]' OR record ->> '$.directoryVersion' < record ->> '$.version'`;

/** An object whose methods `replace` may replace: each gets the call, and with what it was made. */
function replacing(object, replace) {
  const get = (target, key) => {
    const value = Reflect.get(target, key);
    if (typeof value !== 'function' || key === 'constructor') return value;
    return (...list) => {
      const call = (given = list) => target[key](...given);
      return replace[key] === undefined ? call() : replace[key](call, list);
    };
  };
  return new Proxy(object, { get: (target, key) => get(target, key) });
}

/** The methods of sandboxes that leave calls unanswered, and whether they are carried out. */
let silent = {};
/** How many calls were left unanswered. */
let unanswered = 0;

/** A method that can be silent; `then` makes its call where it is not. */
const audible =
  (method, then = (run) => run()) =>
  (run, list) => {
    const how = silent[method];
    if (how === undefined) return then(run, list);
    unanswered += 1;
    if (how === 'carried out') Promise.resolve(run()).catch(() => {});
    return Object.assign(new Promise(() => {}), { [Symbol.dispose]: () => {} });
  };

const IN_SESSIONS = {
  exec: audible('exec', older),
  createBackup: audible('createBackup'),
  restoreBackup: audible('restoreBackup'),
};
const OF_SANDBOXES = {
  getState: audible('getState'),
  configure: audible('configure'),
  setEnvVars: audible('setEnvVars'),
  destroy: audible('destroy'),
  execWithSessionToken: audible('execWithSessionToken', older),
  getSession: (ask) => replacing(ask(), IN_SESSIONS),
};

/** A sandbox whose uptime goes by the clock, for every command that reads it. */
const aged = (call) => replacing(call(), OF_SANDBOXES);

const UPTIME = /read -r (\w+) _ <\/proc\/uptime/g;

/** Runs a command in which the system has been up for longer. */
function older(run, list) {
  const further = (text, up) =>
    `${text}; ${up}=$((10#\${${up}/./} + ${ahead / 10})); ${up}=\${${up}%??}.\${${up}: -2}`;
  return run(list.map((given) => (typeof given === 'string' ? given.replace(UPTIME, further) : given)));
}

/** A Directory that answers nothing while it is said to be down. */
let down = false;
const unsure = (call) =>
  replacing(call(), {
    receive: (run) => {
      if (down) throw new Error('the Directory is down');
      return run();
    },
  });

/** An object whose alarm goes by the clock, and that can be ended. `table` knows when it is due. */
const clocked = (Class, table, passing) =>
  class extends Class {
    /** Asks its tables, of which there are none before anything is kept. */
    rows(query) {
      const made = "SELECT 1 FROM sqlite_schema WHERE name = 'schema'";
      const { sql } = this.ctx.storage;
      return sql.exec(made).toArray().length > 0 ? sql.exec(query).toArray() : [];
    }

    /** When its alarm is due, by its table: the runtime knows of none while one is going off. */
    due() {
      return this.rows(`SELECT alarm_at AS at FROM ${table}`)[0]?.at ?? null;
    }

    ring() {
      return this.alarm();
    }

    /** Has its alarm go off as the platform does, which knows of none then. */
    async goOff() {
      await this.ctx.storage.deleteAlarm();
      await this.alarm();
      return this.ctx.storage.getAlarm();
    }

    passing() {
      return this.rows(passing).map(({ what }) => what);
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
  };

export class Workspace extends clocked(Real, 'workspace', PASSING) {
  constructor(ctx, env) {
    super(ctx, { ...env, Sandbox: replacing(env.Sandbox, { get: aged, getByName: aged }) });
  }
}

export class NamedWorkspace extends clocked(RealNamed, 'home', PASSING_NAMED) {
  constructor(ctx, env) {
    super(ctx, { ...env, Directory: replacing(env.Directory, { get: unsure, getByName: unsure }) });
  }

  /** Every sandbox that its record knows. */
  sandboxIds() {
    const [row] = this.rows('SELECT record FROM home');
    const none = '{"formerSandboxIds":[],"tasks":[]}';
    const { sandboxId, formerSandboxIds, tasks } = JSON.parse(row?.record ?? none);
    return [
      ...new Set([...(sandboxId ? [sandboxId] : []), ...formerSandboxIds, ...tasks.flatMap(Object.values)]),
    ];
  }
}

export default class extends Snapshotter {
  constructor(ctx, env) {
    super(ctx, { ...env, Directory: replacing(env.Directory, { get: unsure, getByName: unsure }) });
  }

  #objects({ sandboxId, sandboxIds = sandboxId === undefined ? [] : [sandboxId], name, tenant = 'default' }) {
    const named = name === undefined ? [] : [this.env.NamedWorkspace.getByName(`${tenant}/${name}`)];
    return [...named, ...sandboxIds.map((id) => this.env.Workspace.getByName(id))];
  }

  /** Lets time pass; the objects live through it from alarm to alarm. */
  async elapse({ seconds, ...options }) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const objects = this.#objects(options);
      const times = await Promise.all(objects.map((object) => object.due()));
      const next = Math.min(...times.map((at) => at ?? Infinity));
      if (next > end) break;
      putForwardTo(next);
      await objects[times.indexOf(next)].ring();
    }
    putForwardTo(end);
  }

  /** Goes back to the true time. */
  trueTime() {
    ahead = 0;
  }

  /** Ends the Directories, in a manner of speaking, or has them be there again. */
  directoryIsDown(options) {
    down = options.down;
  }

  /** Has methods of sandboxes leave calls unanswered from now on: `{method: 'carried out' | 'lost'}`. */
  leaveUnanswered(methods) {
    silent = methods;
    unanswered = 0;
  }

  /** How many calls were left unanswered since. */
  unanswered() {
    return unanswered;
  }

  /** The rows of the objects that are in a passing state. */
  async passing(options) {
    const rows = await Promise.all(this.#objects(options).map((object) => object.passing()));
    return rows.flat();
  }

  /** Every sandbox that the record of a named workspace knows. */
  sandboxIds(options) {
    return this.#objects(options)[0].sandboxIds();
  }

  /** Ends the object, as a deployment does: the next call starts another one. */
  async end(options) {
    await this.#objects(options)[0].end();
  }

  /** Has the object's alarm go off, and answers when it comes again. */
  goOff(options) {
    return this.#objects(options)[0].goOff();
  }

  alarmAt(options) {
    return this.#objects(options)[0].alarmAt();
  }

  /** Ends the object in the middle of its alarm. */
  async endInAlarm(options) {
    await this.#objects(options)[0].endInAlarm();
  }
}
