import { createHash } from 'node:crypto';
import { createPublisher, type PublishedFile } from '../../src/reconcile/publish-directory.js';

/**
 * Publishes without end until it is killed: `publish-forever.js DIRECTORY`. Each release holds `index.json`, which names
 * every file with its SHA-256, so that a reader can tell a whole release from any other.
 */
const publisher = createPublisher({ directory: process.argv[2] ?? '' });
process.stdout.write('started\n');

for (let round = 0; ; round++) {
  const path = await publisher.publish(release(round), `${process.pid}-${round}`);
  process.stdout.write(`${path.path}\n`);
}

function release(round: number): readonly PublishedFile[] {
  const files: PublishedFile[] = [
    { name: 'haproxy.cfg', text: `# ${process.pid} ${round}\n`.repeat(5_000), sensitive: false },
    ...Array.from({ length: 20 }, (_, i) => ({
      name: `certs/${i}.pem`,
      // Some change, some are the same as before.
      text: `certificate ${i} ${i % 3 === 0 ? round : 'same'}\n`,
      sensitive: true,
    })),
  ];
  const index = Object.fromEntries(
    files.map(({ name, text }) => [name, createHash('sha256').update(text).digest('hex')]),
  );
  return [...files, { name: 'index.json', text: JSON.stringify(index), sensitive: false }];
}
