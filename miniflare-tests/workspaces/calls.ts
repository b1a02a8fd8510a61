// Intercepts the calls into sandboxes: records them, blocks them, or runs a fault before them.

export { isArchiving, isUnpacking } from '../world.ts';

export interface Call {
  sandboxId: string;
  method: string;
  command?: string;
}

type Matches = (call: Call) => boolean;

/** Records the calls that `onCall` of a test environment receives, and intercepts them. */
export class CallInterceptor {
  readonly recorded: Call[] = [];
  #intercept: ((call: Call) => Promise<void>) | undefined;

  readonly onCall = async (call: Call) => {
    this.recorded.push(call);
    await this.#intercept?.(call);
  };

  /** Clears the recorded calls, and stops intercepting. */
  reset() {
    this.recorded.length = 0;
    this.#intercept = undefined;
  }

  count(matches: Matches): number {
    return this.recorded.filter(matches).length;
  }

  /** Runs `action` before each call that matches, at most `times` times. */
  intercept(matches: Matches, action: (call: Call) => Promise<void>, times = Infinity) {
    this.#intercept = async (call) => {
      if (matches(call) && times-- > 0) await action(call);
    };
  }

  /** Blocks calls that match, until `release`. `reached` resolves at the first of them. */
  block(matches: Matches) {
    const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    this.intercept(matches, async () => {
      reached.resolve();
      await released.promise;
    });
    return { reached: reached.promise, release: () => released.resolve() };
  }
}
