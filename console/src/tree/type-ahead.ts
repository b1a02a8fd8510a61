// Going to a node by the beginning of its name.

/** Milliseconds after which what is typed is the beginning of another name. */
const PAUSE = 700;

/** What is typed: letters soon after each other are the beginning of one name. */
export class TypeAhead {
  #typed = '';
  #at = -Infinity;

  /**
   * Takes a character that was typed at some time, in milliseconds.
   *
   * @param focused Which of the names has the focus.
   * @returns Which of the names to go to; undefined where none begins so. The same letter again and again goes through all
   *   that begin with it.
   */
  next(character: string, at: number, names: readonly string[], focused: number): number | undefined {
    this.#typed = (at - this.#at > PAUSE ? '' : this.#typed) + character.toLowerCase();
    this.#at = at;
    const [first = ''] = this.#typed;
    const isOne = this.#typed === first.repeat(this.#typed.length);
    const beginning = isOne ? first : this.#typed;
    const from = focused + (isOne ? 1 : 0);
    const order = names.map((_, step) => (from + step) % names.length);
    return order.find((index) => names[index]?.toLowerCase().startsWith(beginning));
  }
}
