// `npm run deploy`: prints which runtime the deployment has, and runs `wrangler deploy`.

import { existsSync } from 'node:fs';
import { basename } from 'node:path';

import { containersOf, localImageOf } from './local.ts';
import { parseDeployment } from './options.mjs';
import { at, output, run } from './setup.mjs';
import { readConfig, type Config } from './wrangler-config.ts';

process.chdir(at()); // Where wrangler runs, and begins relative paths.
const { runtime, config, environment, isDryRun, args } = parseDeployment(process.argv.slice(2));
if (!existsSync(config)) fail(`There is no ${config}.`);
const runtimes = runtimesOf(
  await readConfig(config, environment).catch(({ message }: Error) => fail(message)),
);
const listed =
  runtimes.length > 0
    ? `the runtime${runtimes.length > 1 ? 's' : ''} ${runtimes.join(' and ')}`
    : 'sandboxes of another Worker';
if (runtime !== undefined && !runtimes.includes(runtime))
  fail(`${config} has ${listed}, not the runtime ${runtime}. Pass --config with its path to deploy it.`);

console.log(`${isDryRun ? 'Building' : 'Deploying'} ${basename(config)}, with ${listed}.`);
const hasDocker = output('docker', ['info', '--format', '{{.ServerVersion}}']) !== undefined;
run('wrangler', ['deploy', ...args, ...(isDryRun && !hasDocker ? ['--containers-rollout=none'] : [])]);

/** Returns the runtimes that the var `SANDBOXES` names, or else those of the images; none if another Worker has the sandboxes. */
function runtimesOf(deployed: Config): string[] {
  const { SANDBOXES: listed } = deployed.vars as { SANDBOXES?: { runtime?: string }[] | string };
  const bindings: { runtime?: string }[] = typeof listed === 'string' ? JSON.parse(listed) : (listed ?? []);
  const named = bindings.flatMap((binding) => binding.runtime ?? []);
  const images = containersOf(deployed).flatMap(({ image, images: others }) => [
    image,
    ...Object.values(others),
  ]);
  const found = images
    .filter((image) => image !== '')
    .map((image) => (localImageOf(image) === 'local' ? 'sdk-0.12' : 'container'));
  return [...new Set(named.length > 0 ? named : found)];
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
