// A browser that looks at the console.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';

import { output } from '../../scripts/setup.mjs';
import { TOKEN, World, type WorldOptions } from '../world.ts';

/** Starts the machine's own Chromium. */
export function launch(): Promise<Browser> {
  const executablePath = output('which', ['chromium'])?.trim();
  if (executablePath === undefined) throw new Error('The tests of the console need chromium.');
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A tab at the console of a world. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  /** Requests to anywhere else than the world, and what the content security policy stopped. There must be none. */
  readonly strayed: string[] = [];
  /** The addresses of all requests. */
  readonly requests: string[] = [];
  /** What was written to the browser's console. */
  readonly logged: string[] = [];
  readonly #origin: string;

  private constructor(page: Page, origin: string) {
    this.page = page;
    this.#origin = origin;
    // It only limits how long a failure takes: a busy machine needs many times what an idle one does.
    page.setDefaultTimeout(120_000);
    page.on('console', (message) => {
      this.logged.push(message.text());
      if (message.text().includes('Content Security Policy')) this.strayed.push(message.text());
    });
    page.on('pageerror', (error) => this.strayed.push(String(error)));
    page.on('request', (request) => {
      this.requests.push(request.url());
      if (!request.url().startsWith(this.#origin) && !request.url().startsWith('data:'))
        this.strayed.push(request.url());
    });
  }

  /** Opens a tab at the first place of the console. */
  static async open(browser: Browser, world: World, options: BrowserContextOptions = {}): Promise<Tab> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const { origin } = await world.url('/');
    const tab = new Tab(await context.newPage(), origin);
    await tab.page.goto(`${origin}/`);
    return tab;
  }

  async [Symbol.asyncDispose]() {
    await this.page.context().close();
    assert.deepEqual(this.strayed, []);
  }

  /** Signs in, and waits until that is so. */
  async signIn(token = TOKEN) {
    await this.page.getByLabel('API token').fill(token);
    await this.button('Sign in').click();
    await this.button('Sign out').waitFor();
  }

  /** Goes to a place by its address. */
  async visit(place: string) {
    await this.page.evaluate(`location.hash = ${JSON.stringify(place)}`);
  }

  /** The page of a sandbox, once its tree is read. */
  async sandbox(sandboxId: string) {
    await this.visit(`#/sandboxes/${encodeURIComponent(sandboxId)}`);
    await this.node(`Sandbox ${sandboxId}`).waitFor();
  }

  button(name: string | RegExp): Locator {
    return this.page.getByRole('button', { name, exact: true });
  }

  link(name: string | RegExp): Locator {
    return this.page.getByRole('link', { name, exact: true });
  }

  field(label: string): Locator {
    return this.page.getByLabel(label, { exact: true });
  }

  /** The nodes of the tree that are called like this: `Sandbox agent`, `Snapshot base`. */
  node(name: string): Locator {
    const whole = new RegExp(`^${name.replace(/[^\w ]/g, '\\$&')}( |$)`);
    return this.page.getByRole('treeitem', { name: whole });
  }

  /** The tree, as a screen reader has it. */
  tree(): Promise<string> {
    return this.page.getByRole('tree').ariaSnapshot();
  }

  /** What is told beside the tree. */
  get details(): Locator {
    return this.page.getByRole('region', { name: /^Details/ });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** Waits for a failure with this code, and answers its text. */
  async failure(code: string): Promise<string> {
    const alert = this.page.getByRole('alert').filter({ hasText: code });
    await alert.waitFor();
    return alert.innerText();
  }

  /** Waits until something like this is told that was done, and answers it. */
  async told(text: string | RegExp): Promise<string> {
    const notice = this.page.getByRole('status').filter({ hasText: text });
    await notice.waitFor();
    return notice.innerText();
  }

  /** What an expression is in the page. */
  evaluate<T>(expression: string): Promise<T> {
    return this.page.evaluate(expression);
  }
}

/** What the tests of a file have together: a world and a browser. */
export class Stage {
  world!: World;
  browser!: Browser;

  /** Has them there for the tests of the file; `prepare` fills the world first. */
  constructor(options: WorldOptions = {}, prepare?: (world: World) => Promise<void>) {
    before(async () => {
      this.world = await World.start({ ...options, snapshotter: { port: 0, ...options.snapshotter } });
      this.browser = await launch();
      await prepare?.(this.world);
    });
    after(async () => {
      await this.browser.close();
      await this.world[Symbol.asyncDispose]();
    });
  }

  /** A tab that nobody is signed in at. */
  open(options?: BrowserContextOptions): Promise<Tab> {
    return Tab.open(this.browser, this.world, options);
  }

  /** A tab that somebody is signed in at, at a place. */
  async signedIn(place?: string, options?: BrowserContextOptions): Promise<Tab> {
    const tab = await this.open(options);
    await tab.signIn();
    if (place !== undefined) await tab.visit(place);
    return tab;
  }

  /** A tab at the page of a sandbox, once its tree is read. */
  async atSandbox(sandboxId: string, options?: BrowserContextOptions): Promise<Tab> {
    const tab = await this.signedIn(undefined, options);
    await tab.sandbox(sandboxId);
    return tab;
  }
}
