import { readFileSync } from 'node:fs';
import type { ServeProcess } from '../support/server.js';

/** Registers a running server by its URL, as an API server outside the cluster's network reaches it. */
export function webhookOf({ host, port, ca }: ServeProcess, timeoutSeconds = 10): object {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'rendergate' },
    webhooks: [
      {
        name: 'validate.rendergate.dev',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        timeoutSeconds,
        clientConfig: {
          url: `https://${host}:${port}/validate`,
          caBundle: readFileSync(ca).toString('base64'),
        },
        rules: [
          {
            apiGroups: ['networking.k8s.io'],
            apiVersions: ['v1'],
            operations: ['CREATE', 'UPDATE', 'DELETE'],
            resources: ['ingresses'],
          },
        ],
      },
    ],
  };
}
