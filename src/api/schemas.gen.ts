// Generated from crds/source/crds.yaml by crds/generate.ts (npm run generate): change that instead.

import type { CrdSchema } from "./crdschema.ts";

/** The openAPIV3Schema of each kind, without descriptions. */
export const CRD_SCHEMAS: Readonly<Record<"HookPolicy" | "ClusterHookPolicy" | "HookOverride", CrdSchema>> = {
  "HookPolicy": {
    "type": "object",
    "required": [
      "spec"
    ],
    "properties": {
      "apiVersion": {
        "type": "string"
      },
      "kind": {
        "type": "string"
      },
      "metadata": {
        "type": "object",
        "properties": {
          "name": {
            "type": "string",
            "maxLength": 63
          }
        }
      },
      "spec": {
        "type": "object",
        "required": [
          "rules"
        ],
        "properties": {
          "mode": {
            "type": "string",
            "enum": [
              "Enforce",
              "Audit"
            ],
            "default": "Enforce"
          },
          "failurePolicy": {
            "type": "string",
            "enum": [
              "Fail",
              "Ignore"
            ],
            "default": "Fail"
          },
          "clusterSelector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {
              "matchLabels": {
                "type": "object",
                "maxProperties": 16,
                "additionalProperties": {
                  "type": "string",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                    }
                  ]
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                    "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                    "message": "every key must be a label key, as name or as prefix/name"
                  }
                ]
              },
              "matchExpressions": {
                "type": "array",
                "maxItems": 16,
                "x-kubernetes-list-type": "atomic",
                "items": {
                  "type": "object",
                  "required": [
                    "key",
                    "operator"
                  ],
                  "properties": {
                    "key": {
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 317,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                          "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                          "message": "must be a label key, as name or as prefix/name"
                        }
                      ]
                    },
                    "operator": {
                      "type": "string",
                      "enum": [
                        "In",
                        "NotIn",
                        "Exists",
                        "DoesNotExist"
                      ]
                    },
                    "values": {
                      "type": "array",
                      "maxItems": 32,
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "type": "string",
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                          }
                        ]
                      }
                    }
                  },
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                      "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                      "message": "operators In and NotIn need at least one value",
                      "reason": "FieldValueRequired",
                      "fieldPath": ".values"
                    },
                    {
                      "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                      "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                      "message": "operators Exists and DoesNotExist take no values",
                      "reason": "FieldValueForbidden",
                      "fieldPath": ".values"
                    }
                  ]
                }
              }
            }
          },
          "rules": {
            "type": "array",
            "minItems": 1,
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "name"
            ],
            "items": {
              "type": "object",
              "required": [
                "name",
                "hooks"
              ],
              "properties": {
                "name": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                      "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                    }
                  ]
                },
                "hooks": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 9,
                  "x-kubernetes-list-type": "set",
                  "items": {
                    "type": "string",
                    "enum": [
                      "BeforeClusterCreate",
                      "AfterControlPlaneInitialized",
                      "BeforeClusterUpgrade",
                      "BeforeControlPlaneUpgrade",
                      "AfterControlPlaneUpgrade",
                      "BeforeWorkersUpgrade",
                      "AfterWorkersUpgrade",
                      "AfterClusterUpgrade",
                      "BeforeClusterDelete"
                    ]
                  }
                },
                "matchConditions": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "name"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "name",
                      "expression"
                    ],
                    "properties": {
                      "name": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                            "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                          }
                        ]
                      },
                      "expression": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1024
                      }
                    }
                  }
                },
                "until": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "name"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "name"
                    ],
                    "properties": {
                      "name": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                            "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                          }
                        ]
                      },
                      "annotation": {
                        "type": "object",
                        "required": [
                          "key"
                        ],
                        "properties": {
                          "key": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 317,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not an annotation key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                "message": "must be an annotation key, as name or as prefix/name"
                              }
                            ]
                          },
                          "from": {
                            "type": "string",
                            "enum": [
                              "Cluster",
                              "Namespace"
                            ],
                            "default": "Cluster"
                          },
                          "value": {
                            "type": "string",
                            "maxLength": 1024
                          },
                          "valueFrom": {
                            "type": "string",
                            "enum": [
                              "ClusterName",
                              "ClusterUID",
                              "TargetVersion"
                            ]
                          }
                        },
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(has(self.value) && has(self.valueFrom))",
                            "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                            "reason": "FieldValueForbidden",
                            "fieldPath": ".valueFrom"
                          }
                        ]
                      },
                      "label": {
                        "type": "object",
                        "required": [
                          "key"
                        ],
                        "properties": {
                          "key": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 317,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                "message": "must be a label key, as name or as prefix/name"
                              }
                            ]
                          },
                          "from": {
                            "type": "string",
                            "enum": [
                              "Cluster",
                              "Namespace"
                            ],
                            "default": "Cluster"
                          },
                          "value": {
                            "type": "string",
                            "maxLength": 63,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                              }
                            ]
                          },
                          "valueFrom": {
                            "type": "string",
                            "enum": [
                              "ClusterName",
                              "ClusterUID",
                              "TargetVersion"
                            ]
                          }
                        },
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(has(self.value) && has(self.valueFrom))",
                            "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                            "reason": "FieldValueForbidden",
                            "fieldPath": ".valueFrom"
                          }
                        ]
                      },
                      "expression": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1024
                      },
                      "window": {
                        "type": "object",
                        "properties": {
                          "timeZone": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 64
                          },
                          "allow": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 16,
                            "x-kubernetes-list-type": "atomic",
                            "items": {
                              "type": "object",
                              "properties": {
                                "schedule": {
                                  "type": "string",
                                  "minLength": 9,
                                  "maxLength": 100
                                },
                                "duration": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 16,
                                  "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                },
                                "from": {
                                  "type": "string",
                                  "maxLength": 35
                                },
                                "to": {
                                  "type": "string",
                                  "maxLength": 35
                                }
                              }
                            }
                          },
                          "deny": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 32,
                            "x-kubernetes-list-type": "atomic",
                            "items": {
                              "type": "object",
                              "properties": {
                                "schedule": {
                                  "type": "string",
                                  "minLength": 9,
                                  "maxLength": 100
                                },
                                "duration": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 16,
                                  "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                },
                                "from": {
                                  "type": "string",
                                  "maxLength": 35
                                },
                                "to": {
                                  "type": "string",
                                  "maxLength": 35
                                }
                              }
                            }
                          }
                        }
                      },
                      "version": {
                        "type": "object",
                        "required": [
                          "range"
                        ],
                        "properties": {
                          "range": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 256
                          }
                        }
                      },
                      "object": {
                        "type": "object",
                        "required": [
                          "apiVersion",
                          "kind"
                        ],
                        "properties": {
                          "apiVersion": {
                            "type": "string",
                            "minLength": 2,
                            "maxLength": 317
                          },
                          "kind": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63
                          },
                          "name": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 253
                          },
                          "nameExpression": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 1024
                          },
                          "selector": {
                            "type": "object",
                            "x-kubernetes-map-type": "atomic",
                            "properties": {
                              "matchLabels": {
                                "type": "object",
                                "maxProperties": 16,
                                "additionalProperties": {
                                  "type": "string",
                                  "maxLength": 63,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                    }
                                  ]
                                },
                                "x-kubernetes-validations": [
                                  {
                                    "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                                    "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                    "message": "every key must be a label key, as name or as prefix/name"
                                  }
                                ]
                              },
                              "matchExpressions": {
                                "type": "array",
                                "maxItems": 16,
                                "x-kubernetes-list-type": "atomic",
                                "items": {
                                  "type": "object",
                                  "required": [
                                    "key",
                                    "operator"
                                  ],
                                  "properties": {
                                    "key": {
                                      "type": "string",
                                      "minLength": 1,
                                      "maxLength": 317,
                                      "x-kubernetes-validations": [
                                        {
                                          "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                          "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                          "message": "must be a label key, as name or as prefix/name"
                                        }
                                      ]
                                    },
                                    "operator": {
                                      "type": "string",
                                      "enum": [
                                        "In",
                                        "NotIn",
                                        "Exists",
                                        "DoesNotExist"
                                      ]
                                    },
                                    "values": {
                                      "type": "array",
                                      "maxItems": 32,
                                      "x-kubernetes-list-type": "atomic",
                                      "items": {
                                        "type": "string",
                                        "maxLength": 63,
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                          }
                                        ]
                                      }
                                    }
                                  },
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                                      "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                                      "message": "operators In and NotIn need at least one value",
                                      "reason": "FieldValueRequired",
                                      "fieldPath": ".values"
                                    },
                                    {
                                      "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                                      "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                                      "message": "operators Exists and DoesNotExist take no values",
                                      "reason": "FieldValueForbidden",
                                      "fieldPath": ".values"
                                    }
                                  ]
                                }
                              }
                            }
                          },
                          "expression": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 1024
                          },
                          "minCount": {
                            "type": "integer",
                            "format": "int32",
                            "minimum": 1,
                            "maximum": 1000
                          },
                          "absent": {
                            "type": "boolean",
                            "enum": [
                              true
                            ]
                          }
                        }
                      },
                      "wait": {
                        "type": "object",
                        "required": [
                          "duration"
                        ],
                        "properties": {
                          "duration": {
                            "type": "string",
                            "minLength": 2,
                            "maxLength": 16,
                            "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                          }
                        }
                      },
                      "anyOf": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 8,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": [
                          "name"
                        ],
                        "items": {
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 63,
                              "x-kubernetes-validations": [
                                {
                                  "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                                  "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                                  "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                                }
                              ]
                            },
                            "annotation": {
                              "type": "object",
                              "required": [
                                "key"
                              ],
                              "properties": {
                                "key": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 317,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not an annotation key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                      "message": "must be an annotation key, as name or as prefix/name"
                                    }
                                  ]
                                },
                                "from": {
                                  "type": "string",
                                  "enum": [
                                    "Cluster",
                                    "Namespace"
                                  ],
                                  "default": "Cluster"
                                },
                                "value": {
                                  "type": "string",
                                  "maxLength": 1024
                                },
                                "valueFrom": {
                                  "type": "string",
                                  "enum": [
                                    "ClusterName",
                                    "ClusterUID",
                                    "TargetVersion"
                                  ]
                                }
                              },
                              "x-kubernetes-validations": [
                                {
                                  "rule": "!(has(self.value) && has(self.valueFrom))",
                                  "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                                  "reason": "FieldValueForbidden",
                                  "fieldPath": ".valueFrom"
                                }
                              ]
                            },
                            "label": {
                              "type": "object",
                              "required": [
                                "key"
                              ],
                              "properties": {
                                "key": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 317,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                      "message": "must be a label key, as name or as prefix/name"
                                    }
                                  ]
                                },
                                "from": {
                                  "type": "string",
                                  "enum": [
                                    "Cluster",
                                    "Namespace"
                                  ],
                                  "default": "Cluster"
                                },
                                "value": {
                                  "type": "string",
                                  "maxLength": 63,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                    }
                                  ]
                                },
                                "valueFrom": {
                                  "type": "string",
                                  "enum": [
                                    "ClusterName",
                                    "ClusterUID",
                                    "TargetVersion"
                                  ]
                                }
                              },
                              "x-kubernetes-validations": [
                                {
                                  "rule": "!(has(self.value) && has(self.valueFrom))",
                                  "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                                  "reason": "FieldValueForbidden",
                                  "fieldPath": ".valueFrom"
                                }
                              ]
                            },
                            "expression": {
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 1024
                            },
                            "window": {
                              "type": "object",
                              "properties": {
                                "timeZone": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 64
                                },
                                "allow": {
                                  "type": "array",
                                  "minItems": 1,
                                  "maxItems": 16,
                                  "x-kubernetes-list-type": "atomic",
                                  "items": {
                                    "type": "object",
                                    "properties": {
                                      "schedule": {
                                        "type": "string",
                                        "minLength": 9,
                                        "maxLength": 100
                                      },
                                      "duration": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 16,
                                        "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                      },
                                      "from": {
                                        "type": "string",
                                        "maxLength": 35
                                      },
                                      "to": {
                                        "type": "string",
                                        "maxLength": 35
                                      }
                                    }
                                  }
                                },
                                "deny": {
                                  "type": "array",
                                  "minItems": 1,
                                  "maxItems": 32,
                                  "x-kubernetes-list-type": "atomic",
                                  "items": {
                                    "type": "object",
                                    "properties": {
                                      "schedule": {
                                        "type": "string",
                                        "minLength": 9,
                                        "maxLength": 100
                                      },
                                      "duration": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 16,
                                        "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                      },
                                      "from": {
                                        "type": "string",
                                        "maxLength": 35
                                      },
                                      "to": {
                                        "type": "string",
                                        "maxLength": 35
                                      }
                                    }
                                  }
                                }
                              }
                            },
                            "version": {
                              "type": "object",
                              "required": [
                                "range"
                              ],
                              "properties": {
                                "range": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 256
                                }
                              }
                            },
                            "object": {
                              "type": "object",
                              "required": [
                                "apiVersion",
                                "kind"
                              ],
                              "properties": {
                                "apiVersion": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 317
                                },
                                "kind": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 63
                                },
                                "name": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 253
                                },
                                "nameExpression": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 1024
                                },
                                "selector": {
                                  "type": "object",
                                  "x-kubernetes-map-type": "atomic",
                                  "properties": {
                                    "matchLabels": {
                                      "type": "object",
                                      "maxProperties": 16,
                                      "additionalProperties": {
                                        "type": "string",
                                        "maxLength": 63,
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                          }
                                        ]
                                      },
                                      "x-kubernetes-validations": [
                                        {
                                          "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                                          "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                          "message": "every key must be a label key, as name or as prefix/name"
                                        }
                                      ]
                                    },
                                    "matchExpressions": {
                                      "type": "array",
                                      "maxItems": 16,
                                      "x-kubernetes-list-type": "atomic",
                                      "items": {
                                        "type": "object",
                                        "required": [
                                          "key",
                                          "operator"
                                        ],
                                        "properties": {
                                          "key": {
                                            "type": "string",
                                            "minLength": 1,
                                            "maxLength": 317,
                                            "x-kubernetes-validations": [
                                              {
                                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                                "message": "must be a label key, as name or as prefix/name"
                                              }
                                            ]
                                          },
                                          "operator": {
                                            "type": "string",
                                            "enum": [
                                              "In",
                                              "NotIn",
                                              "Exists",
                                              "DoesNotExist"
                                            ]
                                          },
                                          "values": {
                                            "type": "array",
                                            "maxItems": 32,
                                            "x-kubernetes-list-type": "atomic",
                                            "items": {
                                              "type": "string",
                                              "maxLength": 63,
                                              "x-kubernetes-validations": [
                                                {
                                                  "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                                  "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                                  "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                                }
                                              ]
                                            }
                                          }
                                        },
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                                            "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                                            "message": "operators In and NotIn need at least one value",
                                            "reason": "FieldValueRequired",
                                            "fieldPath": ".values"
                                          },
                                          {
                                            "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                                            "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                                            "message": "operators Exists and DoesNotExist take no values",
                                            "reason": "FieldValueForbidden",
                                            "fieldPath": ".values"
                                          }
                                        ]
                                      }
                                    }
                                  }
                                },
                                "expression": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 1024
                                },
                                "minCount": {
                                  "type": "integer",
                                  "format": "int32",
                                  "minimum": 1,
                                  "maximum": 1000
                                },
                                "absent": {
                                  "type": "boolean",
                                  "enum": [
                                    true
                                  ]
                                }
                              }
                            }
                          },
                          "x-kubernetes-validations": [
                            {
                              "rule": "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object)].exists_one(set, set)",
                              "messageExpression": "\"gate \\\"\" + self.name + \"\\\" has \" + [[has(self.annotation) ? \"annotation\" : \"\", has(self.label) ? \"label\" : \"\", has(self.expression) ? \"expression\" : \"\", has(self.window) ? \"window\" : \"\", has(self.version) ? \"version\" : \"\", has(self.object) ? \"object\" : \"\"] .filter(kind, kind != \"\")].map(set, set.size() == 0 ? \"no condition\" : set.join(\" and \"))[0] + \": set exactly one of annotation, label, expression, window, version and object\"",
                              "message": "a gate of anyOf must have exactly one of annotation, label, expression, window, version and object"
                            }
                          ]
                        }
                      }
                    },
                    "x-kubernetes-validations": [
                      {
                        "rule": "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object), has(self.wait), has(self.anyOf)].exists_one(set, set)",
                        "messageExpression": "\"gate \\\"\" + self.name + \"\\\" has \" + [[has(self.annotation) ? \"annotation\" : \"\", has(self.label) ? \"label\" : \"\", has(self.expression) ? \"expression\" : \"\", has(self.window) ? \"window\" : \"\", has(self.version) ? \"version\" : \"\", has(self.object) ? \"object\" : \"\", has(self.wait) ? \"wait\" : \"\", has(self.anyOf) ? \"anyOf\" : \"\"] .filter(kind, kind != \"\")].map(set, set.size() == 0 ? \"no condition\" : set.join(\" and \"))[0] + \": set exactly one of annotation, label, expression, window, version, object, wait and anyOf\"",
                        "message": "a gate must have exactly one of annotation, label, expression, window, version, object, wait and anyOf"
                      }
                    ]
                  }
                },
                "deadline": {
                  "type": "object",
                  "required": [
                    "after",
                    "onExpiry"
                  ],
                  "properties": {
                    "after": {
                      "type": "string",
                      "minLength": 2,
                      "maxLength": 16,
                      "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                    },
                    "onExpiry": {
                      "type": "string",
                      "enum": [
                        "Allow",
                        "KeepBlocking"
                      ]
                    }
                  }
                },
                "message": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 256,
                  "x-kubernetes-validations": [
                    {
                      "rule": "!self.matches(r'[\\x00-\\x1f\\x7f-\\x{9f}\\x{2028}\\x{2029}]')",
                      "message": "must be one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |"
                    }
                  ]
                },
                "retryAfterSeconds": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 5,
                  "maximum": 300,
                  "default": 10
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!has(self.until) || !('AfterControlPlaneInitialized' in self.hooks)",
                  "message": "until cannot hold AfterControlPlaneInitialized, which Cluster API does not wait for. Remove until, or move that hook to a rule of its own without until",
                  "reason": "FieldValueForbidden",
                  "fieldPath": ".until"
                },
                {
                  "rule": "!has(self.until) || self.hooks.all(h, h.endsWith('Upgrade')) || !self.until.exists(g, (has(g.annotation) && has(g.annotation.valueFrom) && g.annotation.valueFrom == 'TargetVersion') || (has(g.label) && has(g.label.valueFrom) && g.label.valueFrom == 'TargetVersion'))",
                  "messageExpression": "\"valueFrom TargetVersion needs an upgrade, and \" + self.hooks.filter(h, !h.endsWith('Upgrade'))[0] + \" is none. Use ClusterUID or ClusterName, or move that hook to another rule\"",
                  "message": "valueFrom TargetVersion is for upgrade hooks only",
                  "reason": "FieldValueInvalid",
                  "fieldPath": ".until"
                }
              ]
            }
          }
        }
      },
      "status": {
        "type": "object",
        "default": {
          "observedGeneration": -1
        },
        "properties": {
          "observedGeneration": {
            "type": "integer",
            "format": "int64"
          },
          "conditions": {
            "type": "array",
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "type"
            ],
            "items": {
              "type": "object",
              "required": [
                "type",
                "status",
                "lastTransitionTime",
                "reason",
                "message"
              ],
              "properties": {
                "type": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 316,
                  "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                },
                "status": {
                  "type": "string",
                  "enum": [
                    "True",
                    "False",
                    "Unknown"
                  ]
                },
                "observedGeneration": {
                  "type": "integer",
                  "format": "int64",
                  "minimum": 0
                },
                "lastTransitionTime": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                  "minLength": 1
                },
                "message": {
                  "type": "string",
                  "maxLength": 1024
                }
              }
            }
          },
          "hooks": {
            "type": "string",
            "maxLength": 256
          },
          "matchedClusters": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "blocked": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "wouldBlock": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "nextTransitionTime": {
            "type": "string",
            "format": "date-time",
            "maxLength": 64
          },
          "decisions": {
            "type": "array",
            "maxItems": 50,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "namespace",
              "cluster",
              "hook"
            ],
            "items": {
              "type": "object",
              "required": [
                "namespace",
                "cluster",
                "hook",
                "clusterUID",
                "rule",
                "verdict",
                "reason",
                "message",
                "firstAsked",
                "since"
              ],
              "properties": {
                "namespace": {
                  "type": "string",
                  "maxLength": 63
                },
                "cluster": {
                  "type": "string",
                  "maxLength": 253
                },
                "hook": {
                  "type": "string",
                  "enum": [
                    "BeforeClusterCreate",
                    "AfterControlPlaneInitialized",
                    "BeforeClusterUpgrade",
                    "BeforeControlPlaneUpgrade",
                    "AfterControlPlaneUpgrade",
                    "BeforeWorkersUpgrade",
                    "AfterWorkersUpgrade",
                    "AfterClusterUpgrade",
                    "BeforeClusterDelete"
                  ]
                },
                "clusterUID": {
                  "type": "string",
                  "maxLength": 64
                },
                "targetVersion": {
                  "type": "string",
                  "maxLength": 64
                },
                "rule": {
                  "type": "string",
                  "maxLength": 63
                },
                "gate": {
                  "type": "string",
                  "maxLength": 63
                },
                "verdict": {
                  "type": "string",
                  "enum": [
                    "Blocked",
                    "WouldBlock",
                    "NotEvaluable"
                  ]
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "message": {
                  "type": "string",
                  "maxLength": 256
                },
                "firstAsked": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "since": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "earliestRelease": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "timers": {
                  "type": "array",
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "rule"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "rule"
                    ],
                    "properties": {
                      "rule": {
                        "type": "string",
                        "maxLength": 63
                      },
                      "blockedSince": {
                        "type": "string",
                        "format": "date-time",
                        "maxLength": 64
                      },
                      "gatesMetSince": {
                        "type": "string",
                        "format": "date-time",
                        "maxLength": 64
                      }
                    }
                  }
                }
              }
            }
          },
          "decisionsOmitted": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "recent": {
            "type": "array",
            "maxItems": 10,
            "x-kubernetes-list-type": "atomic",
            "items": {
              "type": "object",
              "required": [
                "namespace",
                "cluster",
                "clusterUID",
                "hook",
                "verdict",
                "time"
              ],
              "properties": {
                "namespace": {
                  "type": "string",
                  "maxLength": 63
                },
                "cluster": {
                  "type": "string",
                  "maxLength": 253
                },
                "clusterUID": {
                  "type": "string",
                  "maxLength": 64
                },
                "hook": {
                  "type": "string",
                  "enum": [
                    "BeforeClusterCreate",
                    "AfterControlPlaneInitialized",
                    "BeforeClusterUpgrade",
                    "BeforeControlPlaneUpgrade",
                    "AfterControlPlaneUpgrade",
                    "BeforeWorkersUpgrade",
                    "AfterWorkersUpgrade",
                    "AfterClusterUpgrade",
                    "BeforeClusterDelete"
                  ]
                },
                "targetVersion": {
                  "type": "string",
                  "maxLength": 64
                },
                "verdict": {
                  "type": "string",
                  "enum": [
                    "Allowed",
                    "Observed",
                    "WouldBlock"
                  ]
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "override": {
                  "type": "string",
                  "maxLength": 63
                },
                "time": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                }
              }
            }
          }
        }
      }
    }
  },
  "ClusterHookPolicy": {
    "type": "object",
    "required": [
      "spec"
    ],
    "properties": {
      "apiVersion": {
        "type": "string"
      },
      "kind": {
        "type": "string"
      },
      "metadata": {
        "type": "object",
        "properties": {
          "name": {
            "type": "string",
            "maxLength": 63
          }
        }
      },
      "spec": {
        "type": "object",
        "required": [
          "namespaceSelector",
          "rules"
        ],
        "properties": {
          "mode": {
            "type": "string",
            "enum": [
              "Enforce",
              "Audit"
            ],
            "default": "Enforce"
          },
          "failurePolicy": {
            "type": "string",
            "enum": [
              "Fail",
              "Ignore"
            ],
            "default": "Fail"
          },
          "namespaceSelector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {
              "matchLabels": {
                "type": "object",
                "maxProperties": 16,
                "additionalProperties": {
                  "type": "string",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                    }
                  ]
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                    "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                    "message": "every key must be a label key, as name or as prefix/name"
                  }
                ]
              },
              "matchExpressions": {
                "type": "array",
                "maxItems": 16,
                "x-kubernetes-list-type": "atomic",
                "items": {
                  "type": "object",
                  "required": [
                    "key",
                    "operator"
                  ],
                  "properties": {
                    "key": {
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 317,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                          "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                          "message": "must be a label key, as name or as prefix/name"
                        }
                      ]
                    },
                    "operator": {
                      "type": "string",
                      "enum": [
                        "In",
                        "NotIn",
                        "Exists",
                        "DoesNotExist"
                      ]
                    },
                    "values": {
                      "type": "array",
                      "maxItems": 32,
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "type": "string",
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                          }
                        ]
                      }
                    }
                  },
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                      "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                      "message": "operators In and NotIn need at least one value",
                      "reason": "FieldValueRequired",
                      "fieldPath": ".values"
                    },
                    {
                      "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                      "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                      "message": "operators Exists and DoesNotExist take no values",
                      "reason": "FieldValueForbidden",
                      "fieldPath": ".values"
                    }
                  ]
                }
              }
            }
          },
          "clusterSelector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "properties": {
              "matchLabels": {
                "type": "object",
                "maxProperties": 16,
                "additionalProperties": {
                  "type": "string",
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                    }
                  ]
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                    "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                    "message": "every key must be a label key, as name or as prefix/name"
                  }
                ]
              },
              "matchExpressions": {
                "type": "array",
                "maxItems": 16,
                "x-kubernetes-list-type": "atomic",
                "items": {
                  "type": "object",
                  "required": [
                    "key",
                    "operator"
                  ],
                  "properties": {
                    "key": {
                      "type": "string",
                      "minLength": 1,
                      "maxLength": 317,
                      "x-kubernetes-validations": [
                        {
                          "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                          "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                          "message": "must be a label key, as name or as prefix/name"
                        }
                      ]
                    },
                    "operator": {
                      "type": "string",
                      "enum": [
                        "In",
                        "NotIn",
                        "Exists",
                        "DoesNotExist"
                      ]
                    },
                    "values": {
                      "type": "array",
                      "maxItems": 32,
                      "x-kubernetes-list-type": "atomic",
                      "items": {
                        "type": "string",
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                          }
                        ]
                      }
                    }
                  },
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                      "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                      "message": "operators In and NotIn need at least one value",
                      "reason": "FieldValueRequired",
                      "fieldPath": ".values"
                    },
                    {
                      "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                      "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                      "message": "operators Exists and DoesNotExist take no values",
                      "reason": "FieldValueForbidden",
                      "fieldPath": ".values"
                    }
                  ]
                }
              }
            }
          },
          "rules": {
            "type": "array",
            "minItems": 1,
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "name"
            ],
            "items": {
              "type": "object",
              "required": [
                "name",
                "hooks"
              ],
              "properties": {
                "name": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                      "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                    }
                  ]
                },
                "hooks": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 9,
                  "x-kubernetes-list-type": "set",
                  "items": {
                    "type": "string",
                    "enum": [
                      "BeforeClusterCreate",
                      "AfterControlPlaneInitialized",
                      "BeforeClusterUpgrade",
                      "BeforeControlPlaneUpgrade",
                      "AfterControlPlaneUpgrade",
                      "BeforeWorkersUpgrade",
                      "AfterWorkersUpgrade",
                      "AfterClusterUpgrade",
                      "BeforeClusterDelete"
                    ]
                  }
                },
                "matchConditions": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "name"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "name",
                      "expression"
                    ],
                    "properties": {
                      "name": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                            "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                          }
                        ]
                      },
                      "expression": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1024
                      }
                    }
                  }
                },
                "until": {
                  "type": "array",
                  "minItems": 1,
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "name"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "name"
                    ],
                    "properties": {
                      "name": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 63,
                        "x-kubernetes-validations": [
                          {
                            "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                            "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                          }
                        ]
                      },
                      "annotation": {
                        "type": "object",
                        "required": [
                          "key"
                        ],
                        "properties": {
                          "key": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 317,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not an annotation key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                "message": "must be an annotation key, as name or as prefix/name"
                              }
                            ]
                          },
                          "from": {
                            "type": "string",
                            "enum": [
                              "Cluster",
                              "Namespace"
                            ],
                            "default": "Cluster"
                          },
                          "value": {
                            "type": "string",
                            "maxLength": 1024
                          },
                          "valueFrom": {
                            "type": "string",
                            "enum": [
                              "ClusterName",
                              "ClusterUID",
                              "TargetVersion"
                            ]
                          }
                        },
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(has(self.value) && has(self.valueFrom))",
                            "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                            "reason": "FieldValueForbidden",
                            "fieldPath": ".valueFrom"
                          }
                        ]
                      },
                      "label": {
                        "type": "object",
                        "required": [
                          "key"
                        ],
                        "properties": {
                          "key": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 317,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                "message": "must be a label key, as name or as prefix/name"
                              }
                            ]
                          },
                          "from": {
                            "type": "string",
                            "enum": [
                              "Cluster",
                              "Namespace"
                            ],
                            "default": "Cluster"
                          },
                          "value": {
                            "type": "string",
                            "maxLength": 63,
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                              }
                            ]
                          },
                          "valueFrom": {
                            "type": "string",
                            "enum": [
                              "ClusterName",
                              "ClusterUID",
                              "TargetVersion"
                            ]
                          }
                        },
                        "x-kubernetes-validations": [
                          {
                            "rule": "!(has(self.value) && has(self.valueFrom))",
                            "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                            "reason": "FieldValueForbidden",
                            "fieldPath": ".valueFrom"
                          }
                        ]
                      },
                      "expression": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": 1024
                      },
                      "window": {
                        "type": "object",
                        "properties": {
                          "timeZone": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 64
                          },
                          "allow": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 16,
                            "x-kubernetes-list-type": "atomic",
                            "items": {
                              "type": "object",
                              "properties": {
                                "schedule": {
                                  "type": "string",
                                  "minLength": 9,
                                  "maxLength": 100
                                },
                                "duration": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 16,
                                  "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                },
                                "from": {
                                  "type": "string",
                                  "maxLength": 35
                                },
                                "to": {
                                  "type": "string",
                                  "maxLength": 35
                                }
                              }
                            }
                          },
                          "deny": {
                            "type": "array",
                            "minItems": 1,
                            "maxItems": 32,
                            "x-kubernetes-list-type": "atomic",
                            "items": {
                              "type": "object",
                              "properties": {
                                "schedule": {
                                  "type": "string",
                                  "minLength": 9,
                                  "maxLength": 100
                                },
                                "duration": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 16,
                                  "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                },
                                "from": {
                                  "type": "string",
                                  "maxLength": 35
                                },
                                "to": {
                                  "type": "string",
                                  "maxLength": 35
                                }
                              }
                            }
                          }
                        }
                      },
                      "version": {
                        "type": "object",
                        "required": [
                          "range"
                        ],
                        "properties": {
                          "range": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 256
                          }
                        }
                      },
                      "object": {
                        "type": "object",
                        "required": [
                          "apiVersion",
                          "kind"
                        ],
                        "properties": {
                          "apiVersion": {
                            "type": "string",
                            "minLength": 2,
                            "maxLength": 317
                          },
                          "kind": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63
                          },
                          "namespace": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 63
                          },
                          "name": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 253
                          },
                          "nameExpression": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 1024
                          },
                          "selector": {
                            "type": "object",
                            "x-kubernetes-map-type": "atomic",
                            "properties": {
                              "matchLabels": {
                                "type": "object",
                                "maxProperties": 16,
                                "additionalProperties": {
                                  "type": "string",
                                  "maxLength": 63,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                    }
                                  ]
                                },
                                "x-kubernetes-validations": [
                                  {
                                    "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                                    "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                    "message": "every key must be a label key, as name or as prefix/name"
                                  }
                                ]
                              },
                              "matchExpressions": {
                                "type": "array",
                                "maxItems": 16,
                                "x-kubernetes-list-type": "atomic",
                                "items": {
                                  "type": "object",
                                  "required": [
                                    "key",
                                    "operator"
                                  ],
                                  "properties": {
                                    "key": {
                                      "type": "string",
                                      "minLength": 1,
                                      "maxLength": 317,
                                      "x-kubernetes-validations": [
                                        {
                                          "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                          "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                          "message": "must be a label key, as name or as prefix/name"
                                        }
                                      ]
                                    },
                                    "operator": {
                                      "type": "string",
                                      "enum": [
                                        "In",
                                        "NotIn",
                                        "Exists",
                                        "DoesNotExist"
                                      ]
                                    },
                                    "values": {
                                      "type": "array",
                                      "maxItems": 32,
                                      "x-kubernetes-list-type": "atomic",
                                      "items": {
                                        "type": "string",
                                        "maxLength": 63,
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                          }
                                        ]
                                      }
                                    }
                                  },
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                                      "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                                      "message": "operators In and NotIn need at least one value",
                                      "reason": "FieldValueRequired",
                                      "fieldPath": ".values"
                                    },
                                    {
                                      "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                                      "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                                      "message": "operators Exists and DoesNotExist take no values",
                                      "reason": "FieldValueForbidden",
                                      "fieldPath": ".values"
                                    }
                                  ]
                                }
                              }
                            }
                          },
                          "expression": {
                            "type": "string",
                            "minLength": 1,
                            "maxLength": 1024
                          },
                          "minCount": {
                            "type": "integer",
                            "format": "int32",
                            "minimum": 1,
                            "maximum": 1000
                          },
                          "absent": {
                            "type": "boolean",
                            "enum": [
                              true
                            ]
                          }
                        }
                      },
                      "wait": {
                        "type": "object",
                        "required": [
                          "duration"
                        ],
                        "properties": {
                          "duration": {
                            "type": "string",
                            "minLength": 2,
                            "maxLength": 16,
                            "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                          }
                        }
                      },
                      "anyOf": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 8,
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": [
                          "name"
                        ],
                        "items": {
                          "type": "object",
                          "required": [
                            "name"
                          ],
                          "properties": {
                            "name": {
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 63,
                              "x-kubernetes-validations": [
                                {
                                  "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                                  "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                                  "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                                }
                              ]
                            },
                            "annotation": {
                              "type": "object",
                              "required": [
                                "key"
                              ],
                              "properties": {
                                "key": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 317,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not an annotation key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                      "message": "must be an annotation key, as name or as prefix/name"
                                    }
                                  ]
                                },
                                "from": {
                                  "type": "string",
                                  "enum": [
                                    "Cluster",
                                    "Namespace"
                                  ],
                                  "default": "Cluster"
                                },
                                "value": {
                                  "type": "string",
                                  "maxLength": 1024
                                },
                                "valueFrom": {
                                  "type": "string",
                                  "enum": [
                                    "ClusterName",
                                    "ClusterUID",
                                    "TargetVersion"
                                  ]
                                }
                              },
                              "x-kubernetes-validations": [
                                {
                                  "rule": "!(has(self.value) && has(self.valueFrom))",
                                  "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                                  "reason": "FieldValueForbidden",
                                  "fieldPath": ".valueFrom"
                                }
                              ]
                            },
                            "label": {
                              "type": "object",
                              "required": [
                                "key"
                              ],
                              "properties": {
                                "key": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 317,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                      "message": "must be a label key, as name or as prefix/name"
                                    }
                                  ]
                                },
                                "from": {
                                  "type": "string",
                                  "enum": [
                                    "Cluster",
                                    "Namespace"
                                  ],
                                  "default": "Cluster"
                                },
                                "value": {
                                  "type": "string",
                                  "maxLength": 63,
                                  "x-kubernetes-validations": [
                                    {
                                      "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                      "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                    }
                                  ]
                                },
                                "valueFrom": {
                                  "type": "string",
                                  "enum": [
                                    "ClusterName",
                                    "ClusterUID",
                                    "TargetVersion"
                                  ]
                                }
                              },
                              "x-kubernetes-validations": [
                                {
                                  "rule": "!(has(self.value) && has(self.valueFrom))",
                                  "message": "value and valueFrom exclude each other, and both are set. Remove one of them",
                                  "reason": "FieldValueForbidden",
                                  "fieldPath": ".valueFrom"
                                }
                              ]
                            },
                            "expression": {
                              "type": "string",
                              "minLength": 1,
                              "maxLength": 1024
                            },
                            "window": {
                              "type": "object",
                              "properties": {
                                "timeZone": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 64
                                },
                                "allow": {
                                  "type": "array",
                                  "minItems": 1,
                                  "maxItems": 16,
                                  "x-kubernetes-list-type": "atomic",
                                  "items": {
                                    "type": "object",
                                    "properties": {
                                      "schedule": {
                                        "type": "string",
                                        "minLength": 9,
                                        "maxLength": 100
                                      },
                                      "duration": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 16,
                                        "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                      },
                                      "from": {
                                        "type": "string",
                                        "maxLength": 35
                                      },
                                      "to": {
                                        "type": "string",
                                        "maxLength": 35
                                      }
                                    }
                                  }
                                },
                                "deny": {
                                  "type": "array",
                                  "minItems": 1,
                                  "maxItems": 32,
                                  "x-kubernetes-list-type": "atomic",
                                  "items": {
                                    "type": "object",
                                    "properties": {
                                      "schedule": {
                                        "type": "string",
                                        "minLength": 9,
                                        "maxLength": 100
                                      },
                                      "duration": {
                                        "type": "string",
                                        "minLength": 2,
                                        "maxLength": 16,
                                        "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                                      },
                                      "from": {
                                        "type": "string",
                                        "maxLength": 35
                                      },
                                      "to": {
                                        "type": "string",
                                        "maxLength": 35
                                      }
                                    }
                                  }
                                }
                              }
                            },
                            "version": {
                              "type": "object",
                              "required": [
                                "range"
                              ],
                              "properties": {
                                "range": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 256
                                }
                              }
                            },
                            "object": {
                              "type": "object",
                              "required": [
                                "apiVersion",
                                "kind"
                              ],
                              "properties": {
                                "apiVersion": {
                                  "type": "string",
                                  "minLength": 2,
                                  "maxLength": 317
                                },
                                "kind": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 63
                                },
                                "namespace": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 63
                                },
                                "name": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 253
                                },
                                "nameExpression": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 1024
                                },
                                "selector": {
                                  "type": "object",
                                  "x-kubernetes-map-type": "atomic",
                                  "properties": {
                                    "matchLabels": {
                                      "type": "object",
                                      "maxProperties": 16,
                                      "additionalProperties": {
                                        "type": "string",
                                        "maxLength": 63,
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                            "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                            "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                          }
                                        ]
                                      },
                                      "x-kubernetes-validations": [
                                        {
                                          "rule": "self.all(k, k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$'))",
                                          "messageExpression": "\"\\\"\" + self.filter(k, !(k.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && k.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')))[0] + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                          "message": "every key must be a label key, as name or as prefix/name"
                                        }
                                      ]
                                    },
                                    "matchExpressions": {
                                      "type": "array",
                                      "maxItems": 16,
                                      "x-kubernetes-list-type": "atomic",
                                      "items": {
                                        "type": "object",
                                        "required": [
                                          "key",
                                          "operator"
                                        ],
                                        "properties": {
                                          "key": {
                                            "type": "string",
                                            "minLength": 1,
                                            "maxLength": 317,
                                            "x-kubernetes-validations": [
                                              {
                                                "rule": "self.matches(r'^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$') && self.matches(r'^([^/]{1,253}/)?[^/]{1,63}$')",
                                                "messageExpression": "\"\\\"\" + self + \"\\\" is not a label key: write it as name or as prefix/name, the name at most 63 letters, digits, '-', '_' and '.', the prefix a DNS name in lower case of at most 253 characters\"",
                                                "message": "must be a label key, as name or as prefix/name"
                                              }
                                            ]
                                          },
                                          "operator": {
                                            "type": "string",
                                            "enum": [
                                              "In",
                                              "NotIn",
                                              "Exists",
                                              "DoesNotExist"
                                            ]
                                          },
                                          "values": {
                                            "type": "array",
                                            "maxItems": 32,
                                            "x-kubernetes-list-type": "atomic",
                                            "items": {
                                              "type": "string",
                                              "maxLength": 63,
                                              "x-kubernetes-validations": [
                                                {
                                                  "rule": "self.matches(r'^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$')",
                                                  "messageExpression": "\"\\\"\" + self + \"\\\" is not a label value: use at most 63 letters, digits, '-', '_' and '.', and start and end it with a letter or digit\"",
                                                  "message": "must be a label value of at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last"
                                                }
                                              ]
                                            }
                                          }
                                        },
                                        "x-kubernetes-validations": [
                                          {
                                            "rule": "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
                                            "messageExpression": "\"operator \" + self.operator + \" needs at least one value: list the values, or use the operator \" + (self.operator == \"In\" ? \"Exists\" : \"DoesNotExist\")",
                                            "message": "operators In and NotIn need at least one value",
                                            "reason": "FieldValueRequired",
                                            "fieldPath": ".values"
                                          },
                                          {
                                            "rule": "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || self.values.size() == 0",
                                            "messageExpression": "\"operator \" + self.operator + \" takes no values: remove them, or use the operator \" + (self.operator == \"Exists\" ? \"In\" : \"NotIn\")",
                                            "message": "operators Exists and DoesNotExist take no values",
                                            "reason": "FieldValueForbidden",
                                            "fieldPath": ".values"
                                          }
                                        ]
                                      }
                                    }
                                  }
                                },
                                "expression": {
                                  "type": "string",
                                  "minLength": 1,
                                  "maxLength": 1024
                                },
                                "minCount": {
                                  "type": "integer",
                                  "format": "int32",
                                  "minimum": 1,
                                  "maximum": 1000
                                },
                                "absent": {
                                  "type": "boolean",
                                  "enum": [
                                    true
                                  ]
                                }
                              }
                            }
                          },
                          "x-kubernetes-validations": [
                            {
                              "rule": "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object)].exists_one(set, set)",
                              "messageExpression": "\"gate \\\"\" + self.name + \"\\\" has \" + [[has(self.annotation) ? \"annotation\" : \"\", has(self.label) ? \"label\" : \"\", has(self.expression) ? \"expression\" : \"\", has(self.window) ? \"window\" : \"\", has(self.version) ? \"version\" : \"\", has(self.object) ? \"object\" : \"\"] .filter(kind, kind != \"\")].map(set, set.size() == 0 ? \"no condition\" : set.join(\" and \"))[0] + \": set exactly one of annotation, label, expression, window, version and object\"",
                              "message": "a gate of anyOf must have exactly one of annotation, label, expression, window, version and object"
                            }
                          ]
                        }
                      }
                    },
                    "x-kubernetes-validations": [
                      {
                        "rule": "[has(self.annotation), has(self.label), has(self.expression), has(self.window), has(self.version), has(self.object), has(self.wait), has(self.anyOf)].exists_one(set, set)",
                        "messageExpression": "\"gate \\\"\" + self.name + \"\\\" has \" + [[has(self.annotation) ? \"annotation\" : \"\", has(self.label) ? \"label\" : \"\", has(self.expression) ? \"expression\" : \"\", has(self.window) ? \"window\" : \"\", has(self.version) ? \"version\" : \"\", has(self.object) ? \"object\" : \"\", has(self.wait) ? \"wait\" : \"\", has(self.anyOf) ? \"anyOf\" : \"\"] .filter(kind, kind != \"\")].map(set, set.size() == 0 ? \"no condition\" : set.join(\" and \"))[0] + \": set exactly one of annotation, label, expression, window, version, object, wait and anyOf\"",
                        "message": "a gate must have exactly one of annotation, label, expression, window, version, object, wait and anyOf"
                      }
                    ]
                  }
                },
                "deadline": {
                  "type": "object",
                  "required": [
                    "after",
                    "onExpiry"
                  ],
                  "properties": {
                    "after": {
                      "type": "string",
                      "minLength": 2,
                      "maxLength": 16,
                      "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$"
                    },
                    "onExpiry": {
                      "type": "string",
                      "enum": [
                        "Allow",
                        "KeepBlocking"
                      ]
                    }
                  }
                },
                "message": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 256,
                  "x-kubernetes-validations": [
                    {
                      "rule": "!self.matches(r'[\\x00-\\x1f\\x7f-\\x{9f}\\x{2028}\\x{2029}]')",
                      "message": "must be one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |"
                    }
                  ]
                },
                "retryAfterSeconds": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 5,
                  "maximum": 300,
                  "default": 10
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!has(self.until) || !('AfterControlPlaneInitialized' in self.hooks)",
                  "message": "until cannot hold AfterControlPlaneInitialized, which Cluster API does not wait for. Remove until, or move that hook to a rule of its own without until",
                  "reason": "FieldValueForbidden",
                  "fieldPath": ".until"
                },
                {
                  "rule": "!has(self.until) || self.hooks.all(h, h.endsWith('Upgrade')) || !self.until.exists(g, (has(g.annotation) && has(g.annotation.valueFrom) && g.annotation.valueFrom == 'TargetVersion') || (has(g.label) && has(g.label.valueFrom) && g.label.valueFrom == 'TargetVersion'))",
                  "messageExpression": "\"valueFrom TargetVersion needs an upgrade, and \" + self.hooks.filter(h, !h.endsWith('Upgrade'))[0] + \" is none. Use ClusterUID or ClusterName, or move that hook to another rule\"",
                  "message": "valueFrom TargetVersion is for upgrade hooks only",
                  "reason": "FieldValueInvalid",
                  "fieldPath": ".until"
                }
              ]
            }
          }
        }
      },
      "status": {
        "type": "object",
        "default": {
          "observedGeneration": -1
        },
        "properties": {
          "observedGeneration": {
            "type": "integer",
            "format": "int64"
          },
          "conditions": {
            "type": "array",
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "type"
            ],
            "items": {
              "type": "object",
              "required": [
                "type",
                "status",
                "lastTransitionTime",
                "reason",
                "message"
              ],
              "properties": {
                "type": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 316,
                  "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                },
                "status": {
                  "type": "string",
                  "enum": [
                    "True",
                    "False",
                    "Unknown"
                  ]
                },
                "observedGeneration": {
                  "type": "integer",
                  "format": "int64",
                  "minimum": 0
                },
                "lastTransitionTime": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                  "minLength": 1
                },
                "message": {
                  "type": "string",
                  "maxLength": 1024
                }
              }
            }
          },
          "hooks": {
            "type": "string",
            "maxLength": 256
          },
          "matchedClusters": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "blocked": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "wouldBlock": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "nextTransitionTime": {
            "type": "string",
            "format": "date-time",
            "maxLength": 64
          },
          "decisions": {
            "type": "array",
            "maxItems": 50,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "namespace",
              "cluster",
              "hook"
            ],
            "items": {
              "type": "object",
              "required": [
                "namespace",
                "cluster",
                "hook",
                "clusterUID",
                "rule",
                "verdict",
                "reason",
                "message",
                "firstAsked",
                "since"
              ],
              "properties": {
                "namespace": {
                  "type": "string",
                  "maxLength": 63
                },
                "cluster": {
                  "type": "string",
                  "maxLength": 253
                },
                "hook": {
                  "type": "string",
                  "enum": [
                    "BeforeClusterCreate",
                    "AfterControlPlaneInitialized",
                    "BeforeClusterUpgrade",
                    "BeforeControlPlaneUpgrade",
                    "AfterControlPlaneUpgrade",
                    "BeforeWorkersUpgrade",
                    "AfterWorkersUpgrade",
                    "AfterClusterUpgrade",
                    "BeforeClusterDelete"
                  ]
                },
                "clusterUID": {
                  "type": "string",
                  "maxLength": 64
                },
                "targetVersion": {
                  "type": "string",
                  "maxLength": 64
                },
                "rule": {
                  "type": "string",
                  "maxLength": 63
                },
                "gate": {
                  "type": "string",
                  "maxLength": 63
                },
                "verdict": {
                  "type": "string",
                  "enum": [
                    "Blocked",
                    "WouldBlock",
                    "NotEvaluable"
                  ]
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "message": {
                  "type": "string",
                  "maxLength": 256
                },
                "firstAsked": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "since": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "earliestRelease": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "timers": {
                  "type": "array",
                  "maxItems": 16,
                  "x-kubernetes-list-type": "map",
                  "x-kubernetes-list-map-keys": [
                    "rule"
                  ],
                  "items": {
                    "type": "object",
                    "required": [
                      "rule"
                    ],
                    "properties": {
                      "rule": {
                        "type": "string",
                        "maxLength": 63
                      },
                      "blockedSince": {
                        "type": "string",
                        "format": "date-time",
                        "maxLength": 64
                      },
                      "gatesMetSince": {
                        "type": "string",
                        "format": "date-time",
                        "maxLength": 64
                      }
                    }
                  }
                }
              }
            }
          },
          "decisionsOmitted": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          },
          "recent": {
            "type": "array",
            "maxItems": 10,
            "x-kubernetes-list-type": "atomic",
            "items": {
              "type": "object",
              "required": [
                "namespace",
                "cluster",
                "clusterUID",
                "hook",
                "verdict",
                "time"
              ],
              "properties": {
                "namespace": {
                  "type": "string",
                  "maxLength": 63
                },
                "cluster": {
                  "type": "string",
                  "maxLength": 253
                },
                "clusterUID": {
                  "type": "string",
                  "maxLength": 64
                },
                "hook": {
                  "type": "string",
                  "enum": [
                    "BeforeClusterCreate",
                    "AfterControlPlaneInitialized",
                    "BeforeClusterUpgrade",
                    "BeforeControlPlaneUpgrade",
                    "AfterControlPlaneUpgrade",
                    "BeforeWorkersUpgrade",
                    "AfterWorkersUpgrade",
                    "AfterClusterUpgrade",
                    "BeforeClusterDelete"
                  ]
                },
                "targetVersion": {
                  "type": "string",
                  "maxLength": 64
                },
                "verdict": {
                  "type": "string",
                  "enum": [
                    "Allowed",
                    "Observed",
                    "WouldBlock"
                  ]
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
                },
                "override": {
                  "type": "string",
                  "maxLength": 63
                },
                "time": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                }
              }
            }
          }
        }
      }
    }
  },
  "HookOverride": {
    "type": "object",
    "required": [
      "spec"
    ],
    "properties": {
      "apiVersion": {
        "type": "string"
      },
      "kind": {
        "type": "string"
      },
      "metadata": {
        "type": "object",
        "properties": {
          "name": {
            "type": "string",
            "maxLength": 63
          }
        }
      },
      "spec": {
        "type": "object",
        "required": [
          "clusterRef",
          "hooks",
          "reason",
          "expiresAt"
        ],
        "properties": {
          "clusterRef": {
            "type": "object",
            "required": [
              "namespace",
              "name"
            ],
            "x-kubernetes-map-type": "atomic",
            "properties": {
              "namespace": {
                "type": "string",
                "minLength": 1,
                "maxLength": 63,
                "x-kubernetes-validations": [
                  {
                    "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                    "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                    "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                  }
                ]
              },
              "name": {
                "type": "string",
                "minLength": 1,
                "maxLength": 253
              },
              "uid": {
                "type": "string",
                "minLength": 1,
                "maxLength": 64
              }
            }
          },
          "hooks": {
            "type": "array",
            "minItems": 1,
            "maxItems": 9,
            "x-kubernetes-list-type": "set",
            "items": {
              "type": "string",
              "enum": [
                "BeforeClusterCreate",
                "AfterControlPlaneInitialized",
                "BeforeClusterUpgrade",
                "BeforeControlPlaneUpgrade",
                "AfterControlPlaneUpgrade",
                "BeforeWorkersUpgrade",
                "AfterWorkersUpgrade",
                "AfterClusterUpgrade",
                "BeforeClusterDelete"
              ]
            }
          },
          "policyRefs": {
            "type": "array",
            "minItems": 1,
            "maxItems": 32,
            "x-kubernetes-list-type": "atomic",
            "items": {
              "type": "object",
              "required": [
                "kind",
                "name"
              ],
              "properties": {
                "kind": {
                  "type": "string",
                  "enum": [
                    "HookPolicy",
                    "ClusterHookPolicy"
                  ]
                },
                "name": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 63
                },
                "namespace": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 63,
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
                      "messageExpression": "\"\\\"\" + self + \"\\\" is not a name: use at most 63 lower-case letters, digits and '-', and start and end it with a letter or digit\"",
                      "message": "must be a name of at most 63 lower-case letters, digits and '-', with a letter or digit first and last"
                    }
                  ]
                }
              }
            }
          },
          "reason": {
            "type": "string",
            "minLength": 1,
            "maxLength": 512,
            "x-kubernetes-validations": [
              {
                "rule": "!self.matches(r'[\\x00-\\x1f\\x7f-\\x{9f}\\x{2028}\\x{2029}]')",
                "message": "must be one line without control characters such as line breaks and tabs. In YAML, write it in quotes, or with >- instead of |"
              }
            ]
          },
          "expiresAt": {
            "type": "string",
            "maxLength": 35
          }
        }
      },
      "status": {
        "type": "object",
        "default": {
          "observedGeneration": -1
        },
        "properties": {
          "observedGeneration": {
            "type": "integer",
            "format": "int64"
          },
          "conditions": {
            "type": "array",
            "maxItems": 16,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": [
              "type"
            ],
            "items": {
              "type": "object",
              "required": [
                "type",
                "status",
                "lastTransitionTime",
                "reason",
                "message"
              ],
              "properties": {
                "type": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 316,
                  "pattern": "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
                },
                "status": {
                  "type": "string",
                  "enum": [
                    "True",
                    "False",
                    "Unknown"
                  ]
                },
                "observedGeneration": {
                  "type": "integer",
                  "format": "int64",
                  "minimum": 0
                },
                "lastTransitionTime": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "reason": {
                  "type": "string",
                  "maxLength": 128,
                  "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                  "minLength": 1
                },
                "message": {
                  "type": "string",
                  "maxLength": 1024
                }
              }
            }
          },
          "used": {
            "type": "array",
            "maxItems": 20,
            "x-kubernetes-list-type": "atomic",
            "items": {
              "type": "object",
              "required": [
                "hook",
                "clusterUID",
                "time",
                "policies"
              ],
              "properties": {
                "hook": {
                  "type": "string",
                  "enum": [
                    "BeforeClusterCreate",
                    "AfterControlPlaneInitialized",
                    "BeforeClusterUpgrade",
                    "BeforeControlPlaneUpgrade",
                    "AfterControlPlaneUpgrade",
                    "BeforeWorkersUpgrade",
                    "AfterWorkersUpgrade",
                    "AfterClusterUpgrade",
                    "BeforeClusterDelete"
                  ]
                },
                "clusterUID": {
                  "type": "string",
                  "maxLength": 64
                },
                "targetVersion": {
                  "type": "string",
                  "maxLength": 64
                },
                "time": {
                  "type": "string",
                  "format": "date-time",
                  "maxLength": 64
                },
                "policies": {
                  "type": "array",
                  "maxItems": 10,
                  "x-kubernetes-list-type": "atomic",
                  "items": {
                    "type": "string",
                    "maxLength": 256
                  }
                }
              }
            }
          },
          "usedCount": {
            "type": "integer",
            "format": "int32",
            "minimum": 0
          }
        }
      }
    }
  }
};
