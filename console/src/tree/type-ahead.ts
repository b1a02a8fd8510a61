// Type-ahead: moves the focus to a node by the beginning of its name.

/** Milliseconds after which a typed character begins a new name. */
const PAUSE = 700;

/** The typed characters. Characters without a pause between them are the beginning of one name. */
export class TypeAhead {
  #typed = '';
  #at = -Infinity;

  /**
   * Adds a typed character.
   *
   * @param at When it was typed, in milliseconds.
   * @param focused The index of the name that has the focus.
   * @returns The index of the name to focus; undefined if no name matches. A repeated character cycles through all names that
   *   begin with it.
   */
  next(character: string, at: number, names: readonly string[], focused: number): number | undefined {
    this.#typed = (at - this.#at > PAUSE ? '' : this.#typed) + character.toLowerCase();
    this.#at = at;
    const [first = ''] = this.#typed;
    const isRepeated = this.#typed === first.repeat(this.#typed.length);
    const prefix = isRepeated ? first : this.#typed;
    const from = focused + (isRepeated ? 1 : 0);
    const order = names.map((_, step) => (from + step) % names.length);
    return order.find((index) => names[index]?.toLowerCase().startsWith(prefix));
  }
}
