// Takes the screenshots of docs/console.md: node miniflare-tests/console/screenshots.ts

import { mkdirSync } from 'node:fs';

import { at } from '../../scripts/setup.mjs';
import { World } from '../world.ts';
import { launch, Tab } from './browser.ts';
import { fillShowcase } from './showcase.ts';

const folder = process.argv[2] ?? at('docs/images');
mkdirSync(folder, { recursive: true });
await using world = await World.start({ snapshotter: { port: 0 } });
const { origin, restored } = await fillShowcase(world);
const browser = await launch();
try {
  for (const colorScheme of ['light', 'dark'] as const) {
    await using tab = await Tab.open(browser, world, {
      colorScheme,
      viewport: { width: 1280, height: 800 },
    });
    await tab.signIn();
    await tab.visit('#/workspaces/default/checkout-agent');
    await tab.node('Snapshot before the upgrade').click();
    await tab.details.getByText('Created from it').waitFor();
    await tab.page.screenshot({ path: `${folder}/console-${colorScheme}.png` });
  }
  await using phone = await Tab.open(browser, world, {
    viewport: { width: 390, height: 844 },
    hasTouch: true,
    isMobile: true,
  });
  await phone.signIn();
  await phone.sandbox(origin);
  await phone.page.screenshot({ path: `${folder}/console-phone.png` });
  if (process.argv[2]) await takeMore(phone);
} finally {
  await browser.close();
}

/** Takes screenshots that the documentation does not use. */
async function takeMore(phone: Tab) {
  await phone.node(`Sandbox ${restored}`).click();
  await phone.page.screenshot({ path: `${folder}/phone-sheet.png` });
  await phone.visit('#/workspaces/default');
  await phone.button('Stop docs-bot').waitFor();
  await phone.page.screenshot({ path: `${folder}/phone-list.png` });
  await using out = await Tab.open(browser, world, { viewport: { width: 1280, height: 800 } });
  await out.page.getByText('Healthy').waitFor();
  await out.page.screenshot({ path: `${folder}/sign-in.png` });
  await using tab = await Tab.open(browser, world, { viewport: { width: 1280, height: 800 } });
  await tab.signIn();
  await tab.button('Stop docs-bot').waitFor();
  await tab.page.screenshot({ path: `${folder}/list.png` });
  await tab.sandbox(origin);
  await tab.link('Retention').click();
  await tab.page.getByRole('region', { name: 'Effect of the policy' }).waitFor();
  await tab.page.screenshot({ path: `${folder}/retention.png` });
  await tab.button('Change the policy…').click();
  await tab.page.screenshot({ path: `${folder}/policy-form.png` });
  await tab.link('Checkpoints').click();
  await tab.button('Create a checkpoint…').click();
  await tab.field('Name').fill('before-lunch');
  await tab.button('Create').click();
  await tab.notice('was created');
  await world.exec(origin, 'printf "a\\nb\\n" >notes; echo x >>log; rm data');
  await tab.button('Compare with before-lunch').click();
  await tab.page.getByRole('heading', { name: /Changes since/ }).waitFor();
  await tab.page.screenshot({ path: `${folder}/checkpoints.png` });
  await tab.button('Close').click();
  await tab.node('Snapshot base image').click();
  await tab.button('Delete anyway…').click();
  await tab.dialog.getByText('can’t be deleted').waitFor();
  await tab.page.screenshot({ path: `${folder}/dependents.png` });
  await tab.button('Cancel').click();
  await tab.button('Verify').click();
  await tab.page.getByText('No check failed.').waitFor();
  await tab.page.screenshot({ path: `${folder}/verify.png` });
  await tab.page.getByText('Healthy').click();
  await tab.dialog.waitFor();
  await tab.page.screenshot({ path: `${folder}/health.png` });
}
