// The search: a text field with a list of results, by keyboard or pointer.

import { find, type Result } from './find.ts';
import { INDEX } from './index.ts';
import { loadTexts, type Texts } from './load-texts.ts';

const MOST = 30;

/** Makes the field search. */
export function search(): void {
  const field = document.querySelector<HTMLInputElement>('#query');
  const list = document.querySelector<HTMLElement>('#results');
  const status = document.querySelector<HTMLElement>('#found');
  if (field && list && status) new Search(field, list, status);
}

class Search {
  readonly #field: HTMLInputElement;
  readonly #list: HTMLElement;
  readonly #status: HTMLElement;
  #selected = 0;
  #loading: Promise<void> | undefined;
  #texts: Texts = { words: new Map(), guides: [] };

  constructor(field: HTMLInputElement, list: HTMLElement, status: HTMLElement) {
    this.#field = field;
    this.#list = list;
    this.#status = status;
    field.addEventListener('input', () => this.#update());
    field.addEventListener('focus', () => this.#open());
    field.addEventListener('keydown', (event) => this.#onKey(event));
    list.addEventListener('click', () => this.#close());
    document.addEventListener('pointerdown', ({ target }) => {
      if (!(target instanceof Element && target.closest('.search'))) this.#close();
    });
    field.addEventListener('blur', ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Element && list.contains(relatedTarget))) this.#close();
    });
    document.addEventListener('keydown', (event) => focusOnSlash(event, field));
  }

  #open() {
    this.#update();
    this.#loading ??= loadTexts().then((texts) => {
      this.#texts = texts;
      if (document.activeElement !== this.#field) return;
      const selected = this.#selected;
      this.#update();
      this.#select(selected);
    });
  }

  #update() {
    const { words, guides } = this.#texts;
    const results = find([...INDEX, ...guides], this.#field.value, words);
    const shown = results.slice(0, MOST);
    const isEmpty = this.#field.value.trim() === '';
    this.#list.replaceChildren(...shown.map(option));
    this.#list.hidden = shown.length === 0;
    this.#field.ariaExpanded = String(shown.length > 0);
    this.#status.classList.toggle('unseen', isEmpty || shown.length > 0);
    this.#status.textContent = isEmpty ? '' : count(results.length);
    this.#select(0);
  }

  #select(index: number) {
    const options = [...this.#list.children] as HTMLElement[];
    this.#selected = Math.max(0, Math.min(index, options.length - 1));
    for (const [at, option] of options.entries()) option.ariaSelected = String(at === this.#selected);
    const selected = options[this.#selected];
    if (!selected) return this.#field.removeAttribute('aria-activedescendant');
    this.#field.setAttribute('aria-activedescendant', selected.id);
    selected.scrollIntoView({ block: 'nearest' });
  }

  #onKey(event: KeyboardEvent) {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    const step = steps[event.key];
    if (step !== undefined) this.#select(this.#selected + step);
    else if (event.key === 'Enter') (this.#list.children[this.#selected] as HTMLElement | undefined)?.click();
    else if (event.key === 'Escape' && !this.#list.hidden) this.#close();
    else return;
    event.preventDefault();
  }

  #close() {
    this.#list.hidden = true;
    this.#field.ariaExpanded = 'false';
    this.#field.removeAttribute('aria-activedescendant');
    this.#status.classList.add('unseen');
  }
}

function focusOnSlash(event: KeyboardEvent, field: HTMLInputElement): void {
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select');
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
  field.select();
}

function count(results: number): string {
  if (results === 0) return 'No operation, field, error code or guide matches.';
  return results > MOST
    ? `The best ${MOST} of ${results} results`
    : `${results} result${results === 1 ? '' : 's'}`;
}

function option({ kind, name, text, url }: Result, index: number): HTMLElement {
  const link = document.createElement('a');
  link.href = url;
  link.id = `result-${index}`;
  link.role = 'option';
  link.tabIndex = -1;
  link.append(part('code', name), part('span', kind), part('small', text.replaceAll('`', '')));
  return link;
}

function part(tag: string, text: string): HTMLElement {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
