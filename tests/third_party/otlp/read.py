import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

request = metrics_service_pb2.ExportMetricsServiceRequest()
with open(sys.argv[1], "rb") as file:
    request.ParseFromString(file.read())
print(json_format.MessageToJson(request))
