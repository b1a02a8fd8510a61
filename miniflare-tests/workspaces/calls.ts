// The calls that are made into sandboxes: counted, held up, or met by something that happens just then.

export { isUnpacking } from '../world.ts';

export interface Call {
  sandboxId: string;
  method: string;
  command?: string;
}

type Matches = (call: Call) => boolean;

export const isArchiving: Matches = ({ method }) => method === 'backup.createArchive';

/** What a world's `onCall` tells. */
export class Calls {
  readonly made: Call[] = [];
  #meets: ((call: Call) => Promise<void>) | undefined;

  readonly onCall = async (call: Call) => {
    this.made.push(call);
    await this.#meets?.(call);
  };

  /** Forgets all calls, and lets the next ones pass. */
  reset() {
    this.made.length = 0;
    this.#meets = undefined;
  }

  count(matches: Matches): number {
    return this.made.filter(matches).length;
  }

  /** At each call that matches, something happens before it is carried out. */
  meet(matches: Matches, happens: (call: Call) => Promise<void>, times = Infinity) {
    this.#meets = async (call) => {
      if (matches(call) && times-- > 0) await happens(call);
    };
  }

  /** Holds calls that match until all of them may go on. */
  hold(matches: Matches) {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.meet(matches, async () => {
      reached.resolve();
      await released.promise;
    });
    return { reached: reached.promise, release: () => released.resolve() };
  }
}
