// Fixtures of the console's tests: a browser, its tabs, and a world to show.

import assert from 'node:assert/strict';
import { after, before } from 'node:test';

import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';

import type { TakenSnapshot } from '../../client/src/index.ts';
import { BROWSERS, output } from '../../scripts/setup.mjs';
import { TOKEN, until, World, type WorldOptions } from '../world.ts';

/** Starts the machine's own browser. */
export function launch(): Promise<Browser> {
  const [executablePath] = BROWSERS.flatMap((name) => output('which', [name])?.trim() ?? []);
  if (executablePath === undefined)
    throw new Error(`The tests of the console need ${BROWSERS.join(' or ')}.`);
  return chromium.launch({ executablePath, args: ['--no-sandbox'] });
}

/** A browser tab that shows the console of a world. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  /** Requests to other origins, violations of the content security policy, and uncaught errors. There must be none. */
  readonly violations: string[] = [];
  /** The addresses of all requests. */
  readonly requests: string[] = [];
  /** The messages in the browser's console. */
  readonly logged: string[] = [];
  readonly #origin: string;

  private constructor(page: Page, origin: string) {
    this.page = page;
    this.#origin = origin;
    // This limits only how long a failure takes. A busy machine is many times slower than an idle one.
    page.setDefaultTimeout(120_000);
    page.on('console', (message) => {
      this.logged.push(message.text());
      if (message.text().includes('Content Security Policy')) this.violations.push(message.text());
    });
    page.on('pageerror', (error) => this.violations.push(String(error)));
    page.on('request', (request) => {
      this.requests.push(request.url());
      const own = [this.#origin, `blob:${this.#origin}`, 'data:'];
      if (!own.some((begin) => request.url().startsWith(begin))) this.violations.push(request.url());
    });
  }

  /** Opens a tab, by default at the first page of the console. */
  static async open(
    browser: Browser,
    world: World,
    options: BrowserContextOptions = {},
    path = '/',
  ): Promise<Tab> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    const { href, origin } = await world.url(path);
    const tab = new Tab(await context.newPage(), origin);
    await tab.page.goto(href);
    return tab;
  }

  async [Symbol.asyncDispose]() {
    await this.page.context().close();
    assert.deepEqual(this.violations, []);
  }

  /** Signs in, and waits until it is done. */
  async signIn(token = TOKEN) {
    await this.page.getByLabel('API token').fill(token);
    await this.button('Sign in').click();
    await this.button('Sign out').waitFor();
  }

  /** Goes to a page by its address. */
  async visit(address: string) {
    await this.page.evaluate(`location.hash = ${JSON.stringify(address)}`);
  }

  /** Goes to the page of a sandbox, and waits until its tree is shown. */
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

  /** The nodes of the tree whose accessible names begin with these words: `Sandbox agent`, `Snapshot base`. */
  node(name: string): Locator {
    const pattern = new RegExp(`^${name.replace(/[^\w ]/g, '\\$&')}( |$)`);
    return this.page.getByRole('treeitem', { name: pattern });
  }

  /** The tree, as a screen reader reads it. */
  tree(): Promise<string> {
    return this.page.getByRole('tree').ariaSnapshot();
  }

  /** The details next to the tree. */
  get details(): Locator {
    return this.page.getByRole('region', { name: /^Details/ });
  }

  get dialog(): Locator {
    return this.page.getByRole('dialog');
  }

  /** Waits for a failure with this code, and returns its text. */
  async failure(code: string): Promise<string> {
    const alert = this.page.getByRole('alert').filter({ hasText: code });
    await alert.waitFor();
    return alert.innerText();
  }

  /** Waits for a notice that matches, and returns its text. */
  async notice(text: string | RegExp): Promise<string> {
    const notice = this.page.getByRole('status').filter({ hasText: text });
    await notice.waitFor();
    return notice.innerText();
  }

  /** Evaluates an expression in the page. */
  evaluate<T>(expression: string): Promise<T> {
    return this.page.evaluate(expression);
  }
}

/** The fixture that the tests of a file share: a world and a browser. */
export class ConsoleFixture {
  world!: World;
  browser!: Browser;

  /** Starts both before the tests of the file, and stops them after. `prepare` fills the world. */
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

  /** Creates workspaces of a tenant, and waits until they are listed. */
  async createWorkspaces(tenant: string, names: string[]) {
    for (const name of names) await this.world.workspace(name, tenant).create();
    const listed = async () => (await this.world.rpc('workspaces/list', { tenant })).workspaces.length;
    await until(async () => (await listed()) === names.length);
  }

  /** Opens a tab without signing in. */
  open(options?: BrowserContextOptions, path?: string): Promise<Tab> {
    return Tab.open(this.browser, this.world, options, path);
  }

  /** Opens a tab, signs in, and goes to an address. */
  async signedIn(address?: string, options?: BrowserContextOptions): Promise<Tab> {
    const tab = await this.open(options);
    await tab.signIn();
    if (address !== undefined) await tab.visit(address);
    return tab;
  }

  /** Opens a tab, signs in, and waits for the tree of a sandbox. */
  async atSandbox(sandboxId: string, options?: BrowserContextOptions): Promise<Tab> {
    const tab = await this.signedIn(undefined, options);
    await tab.sandbox(sandboxId);
    return tab;
  }

  /** Opens a tab at the sandbox that a snapshot was taken of, and selects the snapshot. */
  async atSnapshot({ ref, capture }: TakenSnapshot): Promise<Tab> {
    const tab = await this.atSandbox(ref.originId);
    await tab.node(`Snapshot ${capture.label}`).click();
    await tab.details.getByText(ref.snapshotId).waitFor();
    return tab;
  }
}
