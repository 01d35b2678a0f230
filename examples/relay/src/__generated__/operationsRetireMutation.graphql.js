/**
 * @generated SignedSource<<24fc8bd3f1660ea1dd7e0ca973aa9763>>
 * @relayHash ee6e5f33c1f1a7aa3ca47f6f9e5fcefa
 * @lightSyntaxTransform
 */

/* eslint-disable */

'use strict';

// @relayRequestID f0a4d5838341cd902d8e2f4edea56dc85279a94c84717cf6ce08bd70b2cc9f24

var node = (function(){
var v0 = [
  {
    "defaultValue": null,
    "kind": "LocalArgument",
    "name": "input"
  }
],
v1 = [
  {
    "alias": null,
    "args": [
      {
        "kind": "Variable",
        "name": "input",
        "variableName": "input"
      }
    ],
    "concreteType": "RetirePayload",
    "kind": "LinkedField",
    "name": "retire",
    "plural": false,
    "selections": [
      {
        "alias": null,
        "args": null,
        "concreteType": "Retirement",
        "kind": "LinkedField",
        "name": "retirement",
        "plural": false,
        "selections": [
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "id",
            "storageKey": null
          },
          {
            "alias": null,
            "args": null,
            "kind": "ScalarField",
            "name": "state",
            "storageKey": null
          }
        ],
        "storageKey": null
      }
    ],
    "storageKey": null
  }
];
return {
  "fragment": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Fragment",
    "metadata": null,
    "name": "operationsRetireMutation",
    "selections": (v1/*:: as any*/),
    "type": "Mutation",
    "abstractKey": null
  },
  "kind": "Request",
  "operation": {
    "argumentDefinitions": (v0/*:: as any*/),
    "kind": "Operation",
    "name": "operationsRetireMutation",
    "selections": (v1/*:: as any*/)
  },
  "params": {
    "id": "f0a4d5838341cd902d8e2f4edea56dc85279a94c84717cf6ce08bd70b2cc9f24",
    "metadata": {},
    "name": "operationsRetireMutation",
    "operationKind": "mutation",
    "text": null
  }
};
})();

node.hash = "e03fbb7e073a825e4a690ed8c8b1d5ea";

export default node;
