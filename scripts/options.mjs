// The options of `npm run demo`, `npm run dev`, `npm run deploy` and `npm run pack`. They are checked before anything is installed or
// built.

import { parseArgs } from 'node:util';

/** What a sandbox is made of: the class of the Sandbox SDK 0.12, or the client's class over `ctx.container`. */
export const RUNTIMES = /** @type {const} */ (['sdk-0.12', 'container']);

const RUNTIME = `  --runtime <name>   The sandboxes, and the example agent for them: ${RUNTIMES.join(' or ')}. Default: container`;

/** The help of each command. It names every option. */
const HELP = {
  demo: `Usage: npm run demo -- [options]

An example agent breaks its sandbox, restores it and branches. Needs no Docker and no account.

${RUNTIME}
`,
  dev: `Usage: npm run dev -- [options]

Serves the Worker, its console and an agent, with local sandboxes. Needs no Docker and no account.

${RUNTIME}
  --agent <path>     Your own Worker, in place of the example agent: its wrangler.toml, or the folder of it. The runtime of
                     the class that it exports follows from its image; --runtime overrides that. A Worker that only binds the
                     snapshotter needs no --agent: start it with wrangler dev
  --state <folder>   The folder that stores snapshots and workspaces, of one runtime. Default:
                     .local/state-container, and .local/state for sdk-0.12
  --log <format>     The log of the snapshotter: text, in short form, or json, as it is deployed. Default: text
  --port <number>    The port, and the next one for the agent. Default: the environment variable PORT, or else 8787
`,
  deploy: `Usage: npm run deploy -- [options]

Builds the Worker and the image of the sandboxes, and deploys them to your Cloudflare account.

  --runtime <name>   container: deploys wrangler.container.toml, for new deployments
                     sdk-0.12: deploys wrangler.toml
  --config <path>    Deploys another configuration. One of the two options is needed
  --dry-run          Builds and prints the bindings, and uploads nothing. Needs no account

\`wrangler deploy\` gets all other options.
`,
};

const string = /** @type {const} */ ({ type: 'string' });
const help = /** @type {const} */ ({ type: 'boolean', short: 'h' });

const OPTIONS = {
  demo: { runtime: string, help },
  dev: { runtime: string, agent: string, state: string, log: string, port: string, help },
};

/** An option of each command. */
const EXAMPLES = { demo: '--runtime <name>', dev: '--agent <path>' };

/** The configuration that `npm run deploy -- --runtime` deploys for each runtime. */
const CONFIGURATIONS = { 'sdk-0.12': 'wrangler.toml', container: 'wrangler.container.toml' };

/** The options of `wrangler deploy` that select a configuration, and `--runtime`. wrangler checks the others. */
const DEPLOY_OPTIONS = /** @type {const} */ ({
  runtime: string,
  config: { type: 'string', short: 'c' },
  env: { type: 'string', short: 'e' },
  'dry-run': { type: 'boolean' },
  help,
});

/**
 * Returns what the arguments of `npm run deploy` select, and the arguments for `wrangler deploy`. Prints the help and ends the
 * process for `--help`; ends the process with status 2 if `--runtime` is invalid, or if neither it nor `--config` is given.
 */
export function parseDeployment(/** @type {string[]} */ args) {
  const { values, tokens } = parseArgs({
    args,
    options: DEPLOY_OPTIONS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  if (values.help) return end(HELP.deploy, 0);
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : undefined);
  const runtime = values.runtime === undefined ? undefined : (text(values.runtime) ?? ''); // Without a value.
  const selected = RUNTIMES.find((name) => name === runtime);
  try {
    check({ runtime });
    if (selected !== undefined && values.config !== undefined)
      throw new Error('--runtime selects a configuration. Pass --runtime or --config, not both.');
    if (selected === undefined && values.config === undefined)
      throw new Error(
        'Which runtime? For a new deployment: npm run deploy -- --runtime container\n' +
          'For one with sandboxes of the SDK 0.12: npm run deploy -- --runtime sdk-0.12',
      );
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return end(`${message}\nOptions: npm run deploy -- --help\n`, 2);
  }
  const own = tokens.flatMap((token) =>
    token.kind === 'option' && token.name === 'runtime'
      ? [token.index, ...(token.inlineValue === false ? [token.index + 1] : [])]
      : [],
  );
  const rest = args.filter((_, index) => !own.includes(index));
  const config = selected === undefined ? [] : ['--config', CONFIGURATIONS[selected]];
  return {
    runtime: selected,
    config: selected === undefined ? (text(values.config) ?? '') : CONFIGURATIONS[selected],
    environment: text(values.env),
    isDryRun: values['dry-run'] === true,
    args: [...config, ...rest],
  };
}

/** The packages of `npm run pack`. */
const PACKAGES = ['client', 'cli'];

/** The options of `npm pack` that `npm run pack` takes. npm downloads a package for every other argument. */
const PACK_OPTIONS = /** @type {const} */ ({
  'pack-destination': string,
  silent: { type: 'boolean' },
  json: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
});

/**
 * Returns the packages that the arguments of `npm run pack` select, by default all, and the options for `npm pack`. Ends the
 * process with status 2 if an argument is invalid.
 */
export function parsePackages(/** @type {string[]} */ args) {
  try {
    const { values, positionals } = parseArgs({ args, options: PACK_OPTIONS, allowPositionals: true });
    const unknown = positionals.find((name) => !PACKAGES.includes(name));
    if (unknown !== undefined)
      throw new Error(
        `Unknown package ${JSON.stringify(unknown)}. Use client or cli, or neither to pack both.`,
      );
    const rest = Object.entries(values).map(([name, value]) =>
      value === true ? `--${name}` : `--${name}=${value}`,
    );
    return { names: positionals.length > 0 ? positionals : PACKAGES, rest };
  } catch (error) {
    const [message] = /** @type {Error} */ (error).message.split('. To specify');
    return end(`${message}\n`, 2);
  }
}

/**
 * Returns the values of a command's options. Prints the help and ends the process for `--help`; ends the process with status 2
 * if an option is invalid.
 *
 * @returns {{ runtime?: string, agent?: string, state?: string, log?: string, port?: string }}
 */
export function parseOptions(/** @type {keyof typeof OPTIONS} */ command, /** @type {string[]} */ args) {
  try {
    const parsed = /** @type {{ values: unknown }} */ (parseArgs({ args, options: OPTIONS[command] }));
    const values =
      /** @type {{ runtime?: string, agent?: string, state?: string, log?: string, port?: string, help?: boolean }} */ (
        parsed.values
      );
    if (values.help) return end(HELP[command], 0);
    check(values);
    return values;
  } catch (error) {
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const isBare = code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL';
    // npm takes an option before `--` for its own, and passes on only the value.
    const hint = isBare
      ? `\nnpm needs \`--\` before options: npm run ${command} -- ${EXAMPLES[command]}`
      : '';
    return end(`${message}${hint}\nOptions: npm run ${command} -- --help\n`, 2);
  }
}

/** The formats of the log of `npm run dev`. */
const LOG_FORMATS = ['text', 'json'];

function check(/** @type {{ runtime?: string | undefined, log?: string }} */ { runtime, log = 'text' }) {
  if (!LOG_FORMATS.includes(log)) throw new Error(`--log must be text or json, got ${JSON.stringify(log)}.`);
  if (runtime !== undefined && !RUNTIMES.some((name) => name === runtime))
    throw new Error(`--runtime must be ${RUNTIMES.join(' or ')}, got ${JSON.stringify(runtime)}.`);
}

/** @returns {never} */
function end(/** @type {string} */ text, /** @type {number} */ status) {
  (status === 0 ? process.stdout : process.stderr).write(text);
  process.exit(status);
}
