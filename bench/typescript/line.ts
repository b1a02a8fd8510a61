// One capture at a time, shared by all who ask for the same.

/** What is asked of a capture, for one caller. */
interface Request {
  fresh: boolean;
  idempotencyKey?: string;
}

/** A capture that is under way or stands in line. */
interface Turn<A> {
  asks: string;
  began: boolean;
  outcome: Promise<A>;
}

/** Captures, in the order of their turns. */
export class Line<R extends Request, A extends { capture: object }> {
  #turns: Turn<A>[] = [];
  #work: (request: R) => Promise<A>;

  constructor(work: (request: R) => Promise<A>) {
    this.#work = work;
  }

  /** Does the work when its turn comes, or shares what is under way or stands in line. */
  async share(request: R): Promise<A> {
    const { idempotencyKey: _, fresh, ...rest } = request;
    const asks = JSON.stringify(rest);
    const joined = this.#turns.find((turn) => turn.asks === asks && !(fresh && turn.began));
    if (joined) {
      const answer = await joined.outcome;
      return { ...answer, capture: { ...answer.capture, shared: true } };
    }
    const before = this.#turns.at(-1);
    const turn: Turn<A> = { asks, began: false, outcome: undefined as never };
    this.#turns.push(turn);
    turn.outcome = this.#take(turn, before, request);
    return turn.outcome;
  }

  async #take(turn: Turn<A>, before: Turn<A> | undefined, request: R): Promise<A> {
    await before?.outcome.catch(() => {});
    turn.began = true;
    try {
      return await this.#work(request);
    } finally {
      this.#turns.splice(this.#turns.indexOf(turn), 1);
    }
  }
}
