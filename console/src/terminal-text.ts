// The output of a command as text: what a terminal would execute is removed or shown.

/** Escape sequences: of colors and the cursor, of titles and links, and of two characters. */
const SEQUENCES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-Z\\^-~])/g;

/** The beginning of a sequence at the end of a part, or a carriage return, whose rest may follow in the next part. */
const INCOMPLETE = /(?:\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)|\r)$/;

/** The maximum length of an incomplete sequence. A longer one is shown as it is. */
const MAX_INCOMPLETE = 4096;

/** Characters that are invisible or change the order of the text around them. */
const INVISIBLE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Converts the output of a command, part by part. */
export class TerminalText {
  readonly #decoder = new TextDecoder();
  #incomplete = '';

  /** Returns what can be shown after another part. */
  append(bytes: Uint8Array): string {
    const text = this.#incomplete + this.#decoder.decode(bytes, { stream: true });
    const found = INCOMPLETE.exec(text)?.[0] ?? '';
    this.#incomplete = found.length <= MAX_INCOMPLETE ? found : '';
    return displayable(text.slice(0, text.length - this.#incomplete.length));
  }

  /** Returns the rest, when there is no further part. */
  end(): string {
    return displayable(this.#incomplete + this.#decoder.decode());
  }
}

/** Removes escape sequences, and shows other characters that have an effect as `\uXXXX`. */
export function displayable(text: string): string {
  return text
    .replace(SEQUENCES, '')
    .replace(/\r\n?/g, '\n')
    .replace(INVISIBLE, (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, '0')}`);
}
