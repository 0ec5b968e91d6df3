"""Calls of alibabacloud_vpc20160428, which signs with ACS3, or with V1 where SDK_SIGNATURE is v2.

Reads calls from stdin, one a line ("Action {parameters}"), and prints each answer as one line of JSON: the response as the
SDK's model has it, or the error's Code and Message.
"""

import json
import os
import re
import sys

from alibabacloud_tea_openapi.utils_models import Config
from alibabacloud_vpc20160428 import models
from alibabacloud_vpc20160428.client import Client
from Tea.exceptions import TeaException

client = Client(Config(
    region_id=os.environ['SDK_REGION'],
    endpoint=os.environ['SDK_ENDPOINT'],
    access_key_id=os.environ['SDK_KEY_ID'],
    access_key_secret=os.environ['SDK_KEY_SECRET'],
    signature_algorithm=os.environ.get('SDK_SIGNATURE') or None,
    ca=os.environ['SSL_CERT_FILE'],
))


def call(action, parameters):
    request = getattr(models, action + 'Request')().from_map(parameters | {'RegionId': client._region_id})
    method = re.sub(r'(?<!^)(?=[A-Z])', '_', action).lower()
    return getattr(client, method)(request).body.to_map()


for line in sys.stdin:
    action, text = line.split(' ', 1)
    try:
        answer = call(action, json.loads(text))
    except TeaException as error:
        answer = {'Code': error.code, 'Message': error.message}
    print(json.dumps(answer), flush=True)
