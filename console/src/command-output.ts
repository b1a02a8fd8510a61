// The output of a command while it runs: the text of both streams in their order, of limited length.

import { TerminalText } from './terminal-text.ts';

/** A part of an output that comes from one stream. */
export interface OutputPart {
  stream: 'stdout' | 'stderr';
  text: string;
}

/** The maximum number of characters that are kept: the last ones. */
const MAX_CHARACTERS = 200_000;

/** The maximum number of parts that are kept: the last ones. */
const MAX_PARTS = 2_000;

/** Collects the output of a command. */
export class CommandOutput {
  readonly #texts = { stdout: new TerminalText(), stderr: new TerminalText() };
  #parts: OutputPart[] = [];
  #length = 0;
  #isCut = false;

  /** The output so far. The parts change with further output. */
  get parts(): readonly OutputPart[] {
    return this.#parts;
  }

  /** Whether the beginning of the output is left out. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Adds bytes of a stream. */
  append(stream: OutputPart['stream'], bytes: Uint8Array): void {
    this.#add(stream, this.#texts[stream].append(bytes));
  }

  /** Adds what the ends of both streams contain. */
  end(): void {
    this.#add('stdout', this.#texts.stdout.end());
    this.#add('stderr', this.#texts.stderr.end());
  }

  /** Adds a text. One that follows a line of the other stream begins a new line. */
  #add(stream: OutputPart['stream'], added: string): void {
    if (added === '') return;
    const last = this.#parts.at(-1);
    const isSame = last?.stream === stream;
    const isWithin = last && !isSame && !last.text.endsWith('\n') && !added.startsWith('\n');
    const text = isWithin ? `\n${added}` : added;
    if (isSame) last.text += text;
    else this.#parts.push({ stream, text });
    this.#length += text.length;
    while (this.#length > MAX_CHARACTERS || this.#parts.length > MAX_PARTS) this.#cut();
  }

  /** Removes the first part, or as much of it as is too long. */
  #cut(): void {
    const [first] = this.#parts;
    if (first === undefined) return;
    const isWhole = this.#parts.length > MAX_PARTS;
    const removed = Math.min(first.text.length, isWhole ? Infinity : this.#length - MAX_CHARACTERS);
    first.text = first.text.slice(removed);
    this.#length -= removed;
    if (first.text === '') this.#parts.shift();
    this.#isCut = true;
  }
}
