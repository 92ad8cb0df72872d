#!/usr/bin/env node
import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { reportFailure, UsageError } from './failure.js';
import { packageVersion, SHIPPED_CONFIG } from './package-root.js';

/** Exit codes: 0 done or allowed, 1 denied or a fault in the input, 2 misused or not judged. */
const MISUSED = 2;

function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535)
    throw new InvalidArgumentError('give a port from 0 to 65535.');
  return value;
}

function seconds(text: string): number {
  const value = Number(text);
  if (!(value >= 0 && value <= 3_600)) throw new InvalidArgumentError('give seconds from 0 to 3600.');
  return value;
}

/** Goes into paths, selectors and host names. */
function dnsLabel(text: string): string {
  if (!/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('give a name of small letters, digits and -, at most 63.');
  return text;
}

function replicas(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100)
    throw new InvalidArgumentError('give a whole number from 1 to 100.');
  return value;
}

function image(text: string): string {
  if (!/^[A-Za-z0-9][\w./:@-]*$/.test(text))
    throw new InvalidArgumentError('give an image such as example.com/name:tag.');
  return text;
}

function withConfig(command: Command): Command {
  return command.option('--config <path>', 'RenderConfig: a file, or a folder with rendergate.yaml', SHIPPED_CONFIG);
}

function withInputs(command: Command): Command {
  return withConfig(command).option(
    '--resources <path>',
    'folder (or file) of manifests that stands for the cluster',
    '.',
  );
}

function withReload(command: Command): Command {
  return command
    .option(
      '--reload-socket <path>',
      'master socket of a HAProxy (haproxy -W -S PATH) that is reloaded after each change',
    )
    .option(
      '--reload-command <words>',
      'command that is run instead, its words separated by spaces; no shell sees them',
    );
}

function program(): Command {
  const root = new Command('rendergate')
    .description('Reviews changes to Kubernetes objects against the load-balancer configuration that they would give.')
    .showHelpAfterError('(add --help for the options)')
    .version(packageVersion(), '--version')
    .exitOverride();

  withReload(withConfig(root.command('serve')))
    .option('--resources <path>', 'folder (or file) of manifests that stands for the cluster (default: ".")')
    .option('--kube', 'follow a real cluster: the kubeconfig that kubectl would take, or the own service account')
    .option('--kubeconfig <file>', 'follow the cluster of this kubeconfig')
    .option('--context <name>', 'context of the kubeconfig')
    .option(
      '--namespace <name>',
      'namespace of this Pod (default: from its service account, else rendergate)',
      dnsLabel,
    )
    .option('--service <name>', 'Service of the replicas: a cold one is not Ready while a sibling validates', dnsLabel)
    .description('Serve the webhook over HTTPS and keep the output directory up to date.')
    .option('--output <dir>', 'where accepted configurations are published (DIR/current)', '.rendergate/output')
    .option(
      '--leader-elect',
      'one of several replicas: only the one that holds the Lease "rendergate" publishes',
      false,
    )
    .option(
      '--tls-secret <name>',
      'keep the certificate in this Secret, and its CA in the webhook registration (needs --service)',
    )
    .option('--publish-secret <name>', 'publish to this Secret too, for `rendergate follow` beside each HAProxy')
    .option('--host <address>', 'address to listen on', '0.0.0.0')
    .option('--port <port>', 'HTTPS port; 0 takes a free one', port, 8443)
    .option('--health-port <port>', 'plain port of /livez, /readyz and /metrics; 0 takes a free one', port, 8081)
    .option('--certs <dir>', 'where a development certificate is generated and kept', 'certs')
    .option('--tls-cert <file>', 'certificate chain to serve instead (PEM)')
    .option('--tls-key <file>', 'its key (PEM)')
    .option('--propagation <seconds>', 'how long to serve on after SIGTERM, while readiness fails already', seconds, 0)
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (options) => (await import('./serve.js')).serve(options));

  withReload(root.command('follow'))
    .description('Beside a HAProxy: keep its directory at the configuration that `serve --publish-secret` publishes.')
    .option('--kube', 'the default: the kubeconfig that kubectl would take, or the own service account')
    .option('--kubeconfig <file>', 'follow the cluster of this kubeconfig')
    .option('--context <name>', 'context of the kubeconfig')
    .option('--namespace <name>', 'namespace of the Secret (default: from the service account, else rendergate)')
    .option('--secret <name>', 'name of the Secret', 'rendergate-published')
    .requiredOption('--output <dir>', 'where the configuration is kept (DIR/current)')
    .option('--once', 'end with code 0 when the first configuration is there, for an init container', false)
    .option('--host <address>', 'address to listen on', '0.0.0.0')
    .option('--health-port <port>', 'plain port of /livez, /readyz and /metrics; 0 takes a free one', port, 8081)
    .addOption(
      new Option('--log-level <level>', 'lowest level that is logged')
        .choices(['debug', 'info', 'warn', 'error'])
        .default('info'),
    )
    .action(async (options) => (await import('./follow.js')).follow(options));

  withInputs(root.command('review'))
    .description(
      'Review changes offline: the same verdict as the webhook. Exit code 0 allowed, 1 denied, 2 not judged or misused.',
    )
    .requiredOption('-f, --filename <path>', 'file or folder with the changed objects; - reads stdin')
    .addOption(
      new Option('--operation <operation>', 'what happens to them')
        .choices(['CREATE', 'UPDATE', 'DELETE'])
        .makeOptionMandatory(),
    )
    .addOption(new Option('--output <format>', 'how to print').choices(['text', 'json', 'diff']).default('text'))
    .action(async (options) => (await import('./review.js')).review(options));

  withInputs(root.command('render'))
    .description(
      'Render the configuration of the manifests into a folder. Exit code 1 if an object had to be left out.',
    )
    .requiredOption('-o, --output <dir>', 'folder to write to')
    .action(async (options) => (await import('./render.js')).render(options));

  withInputs(root.command('explain'))
    .description('Say who reads an object, what was written for it, and who has the keys that it contends for.')
    .argument('<object>', 'ALIAS/NAMESPACE/NAME, such as ingresses/shop/web, or ALIAS/NAME')
    .addOption(new Option('--output <format>', 'how to print').choices(['text', 'json']).default('text'))
    .action(async (object, options) => (await import('./explain.js')).explain(object, options));

  withConfig(root.command('manifests'))
    .description(
      'Print what `kubectl apply -f -` installs in a cluster, or with --uninstall what `kubectl delete -f -` removes.',
    )
    .option(
      '--namespace <name>',
      'namespace of its own, which is made, and deleted with everything in it',
      'rendergate',
    )
    .option('--image <image>', 'image of rendergate (deploy/Dockerfile)', image, `rendergate:${packageVersion()}`)
    .option('--replicas <count>', 'replicas of the webhook server', replicas, 2)
    .option('--haproxy-image <image>', 'image of HAProxy, of the version that checks', image, 'haproxy:2.6-bookworm')
    .option('--uninstall', 'print the removal', false)
    .action(async (options) => (await import('./manifests.js')).printManifests(options));

  root
    .command('demo')
    .description('Start the webhook on the demo cluster, post reviews and show the verdicts.')
    .option('--keep-serving', 'serve the demo until it is stopped, with a curl line to paste', false)
    .action(async (options) => (await import('./demo.js')).demo(options));

  return root;
}

async function main(): Promise<void> {
  try {
    await program().parseAsync();
  } catch (error) {
    // Help and version end here too, with code 0; a wrong option has been explained already.
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : MISUSED;
    else process.exitCode = reportFailure(error, error instanceof UsageError ? MISUSED : 1);
  }
}

await main();
