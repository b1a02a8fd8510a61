// Single-flight captures: one capture at a time, shared by equal requests.

/** The options that are not part of the key. */
interface Request {
  fresh: boolean;
  idempotencyKey?: string;
}

/** A capture that runs or waits. */
interface InFlight<A> {
  key: string;
  began: boolean;
  outcome: Promise<A>;
}

/** Runs captures one after the other. */
export class Coalescer<R extends Request, A extends { capture: object }> {
  #inFlight: InFlight<A>[] = [];
  #work: (request: R) => Promise<A>;

  constructor(work: (request: R) => Promise<A>) {
    this.#work = work;
  }

  /** Shares an equal capture that runs or waits, or runs the work after all others. */
  async run(request: R): Promise<A> {
    const { idempotencyKey: _, fresh, ...rest } = request;
    const key = JSON.stringify(rest);
    const joined = this.#inFlight.find((capture) => capture.key === key && !(fresh && capture.began));
    if (joined) {
      const answer = await joined.outcome;
      return { ...answer, capture: { ...answer.capture, shared: true } };
    }
    const previous = this.#inFlight.at(-1);
    const capture: InFlight<A> = { key, began: false, outcome: undefined as never };
    this.#inFlight.push(capture);
    capture.outcome = this.#runAfter(previous, capture, request);
    return capture.outcome;
  }

  async #runAfter(previous: InFlight<A> | undefined, capture: InFlight<A>, request: R): Promise<A> {
    await previous?.outcome.catch(() => {});
    capture.began = true;
    try {
      return await this.#work(request);
    } finally {
      this.#inFlight.splice(this.#inFlight.indexOf(capture), 1);
    }
  }
}
