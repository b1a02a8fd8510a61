/**
 * The alarm of an object, of which the platform has one. The application and the inactivity timeout share it: while the timeout
 * has a time, the methods of the storage read and write the application's time, and the alarm is the earlier of both.
 */

const KEY = 'sandbox-snapshotter:alarm';

/** The stored times, in milliseconds since 1970. Nothing is stored while the timeout has none. */
interface Times {
  own?: number | undefined;
  application?: number | undefined;
}

/** Sets the alarm of an object, and runs what is due. */
export class SharedAlarm {
  /** Sets the time of the inactivity timeout. Without a time, removes it. */
  readonly set: (own?: number) => Promise<void>;
  /**
   * Runs the application where its time has come, and then `work`, which must call {@link set}. Where the application fails, it
   * remains due, and the platform calls again.
   */
  readonly run: (application: () => Promise<void>, work: () => Promise<void>) => Promise<void>;

  /** Replaces the methods of the storage. */
  constructor({ storage }: DurableObjectState) {
    const { kv } = storage;
    const get = storage.getAlarm.bind(storage);
    const set = storage.setAlarm.bind(storage);
    const remove = storage.deleteAlarm.bind(storage);
    const read = () => kv.get<Times>(KEY) ?? {};
    const store = async (times: Times) => {
      const { own, application = Infinity } = times;
      if (own) kv.put(KEY, times);
      else kv.delete(KEY);
      const first = Math.min(own ?? Infinity, application);
      await (first < Infinity ? set(first) : remove());
    };
    storage.getAlarm = async () => {
      const { own, application = null } = read();
      return own ? application : get();
    };
    storage.setAlarm = (time) => store({ ...read(), application: Number(time) });
    storage.deleteAlarm = () => store({ own: read().own });
    this.set = async (own) => {
      const times = kv.get<Times>(KEY) ?? { application: (await get()) ?? undefined };
      if (times.own || own) await store({ ...times, own });
    };
    this.run = async (application, work) => {
      const { own, application: due = Infinity } = read();
      if (!own) return application();
      if (due <= Date.now()) {
        // Changes the stored times only: the platform repeats an alarm that fails.
        kv.put(KEY, { own });
        await application().catch((thrown) => {
          kv.put(KEY, { application: due, ...read() });
          throw thrown;
        });
      }
      await work();
    };
  }
}
