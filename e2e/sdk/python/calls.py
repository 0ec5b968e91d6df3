"""Calls of alibabacloud_vpc20160428, alibabacloud_ecs20140526 and alibabacloud_eflo20220530, which sign with ACS3, or with V1 where
SDK_SIGNATURE is v2.

SDK_PRODUCT is vpc20160428, the default, ecs20140526 or eflo20220530. Reads calls from stdin, one a line ("Action {parameters}"), and prints each
answer as one line of JSON: the response as the SDK's model has it, or the error's Code and Message.
"""

import importlib
import json
import os
import re
import sys

from alibabacloud_tea_openapi.utils_models import Config
from Tea.exceptions import TeaException

package = 'alibabacloud_' + os.environ.get('SDK_PRODUCT', 'vpc20160428')
models = importlib.import_module(package + '.models')
client = importlib.import_module(package + '.client').Client(Config(
    region_id=os.environ['SDK_REGION'],
    endpoint=os.environ['SDK_ENDPOINT'],
    access_key_id=os.environ['SDK_KEY_ID'],
    access_key_secret=os.environ['SDK_KEY_SECRET'],
    signature_algorithm=os.environ.get('SDK_SIGNATURE') or None,
    ca=os.environ['SSL_CERT_FILE'],
))


def call(action, parameters):
    request = getattr(models, action + 'Request')().from_map(parameters | {'RegionId': client._region_id})
    # assign_ipv_6addresses: a digit ends a word of the SDK's method names, too.
    method = re.sub(r'(?<!^)(?=[A-Z])|(?<=[a-z])(?=\d)', '_', action).lower()
    method = re.sub(r'(\d)_', r'\1', method)
    return getattr(client, method)(request).body.to_map()


for line in sys.stdin:
    action, text = line.split(' ', 1)
    try:
        answer = call(action, json.loads(text))
    except TeaException as error:
        answer = {'Code': error.code, 'Message': error.message}
    print(json.dumps(answer), flush=True)
