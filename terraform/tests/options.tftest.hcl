# What is there only when it was asked for.

mock_provider "google" {}
mock_provider "google-beta" {
  mock_data "google_firebase_android_app_config" {
    defaults = { config_file_contents = "eyJwcm9qZWN0X2luZm8iOnt9fQ==" }
  }
}
mock_provider "random" {}

variables {
  project = "my-project"
}

run "nothing_asked" {
  command = plan

  assert {
    condition = 0 == length(concat(
      google_billing_budget.month[*], google_cloud_run_domain_mapping.domain[*], google_firebase_android_app.android[*],
      google_firebase_web_app.web[*], google_monitoring_notification_channel.email[*], values(google_monitoring_alert_policy.policies),
    ))
    error_message = "something is there that nobody asked for"
  }
}

run "alerts" {
  command = plan

  variables {
    alert_email = "me@example.org"
  }

  assert {
    condition     = toset(keys(google_monitoring_alert_policy.policies)) == toset(["server_errors", "crashes", "push_failures", "firestore_errors"])
    error_message = "an alert is missing"
  }
  assert {
    condition     = alltrue([for name, p in google_monitoring_alert_policy.policies : strcontains(p.documentation[0].content, "docs/playbooks/${name}.md")])
    error_message = "an alert does not name its playbook"
  }
  assert {
    condition = alltrue([for name, m in google_logging_metric.metrics :
      strcontains(google_monitoring_alert_policy.policies[name].conditions[0].condition_threshold[0].filter, "logging.googleapis.com/user/${m.name}\"")
    ])
    error_message = "an alert asks for a metric that there is not"
  }
  assert {
    condition     = alltrue([for m in google_logging_metric.metrics : strcontains(m.filter, "service_name=\"iris\" AND (")])
    error_message = "a metric counts the logs of other services"
  }
}

run "budget" {
  command = plan

  variables {
    budget          = 5
    billing_account = "012345-6789AB-CDEF01"
  }

  assert {
    condition     = google_billing_budget.month[0].amount[0].specified_amount[0].units == "5" && [for r in google_billing_budget.month[0].threshold_rules : r.threshold_percent] == [0.5, 0.9, 1]
    error_message = "another budget"
  }
  assert {
    condition     = contains(keys(google_project_service.apis), "billingbudgets.googleapis.com")
    error_message = "the API of budgets is off"
  }
}

run "domain" {
  command = plan

  variables {
    domain = "iris.example.org"
  }

  assert {
    condition     = google_cloud_run_domain_mapping.domain[0].name == "iris.example.org" && google_cloud_run_domain_mapping.domain[0].spec[0].route_name == "iris"
    error_message = "another domain"
  }
  assert {
    condition     = one([for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e.value if e.name == "IRIS_PUBLIC_URL"]) == "https://iris.example.org"
    error_message = "phones would be paired with another address"
  }
  assert {
    condition     = output.url == "https://iris.example.org"
    error_message = "another address is told"
  }
}

run "apps" {
  command = apply

  variables {
    image           = "example.org/iris/gateway:v1"
    android_package = "org.example.iris"
    web_app         = true
  }

  assert {
    condition     = google_firebase_android_app.android[0].package_name == "org.example.iris"
    error_message = "another app"
  }
  assert {
    condition     = output.android == "{\"project_info\":{}}"
    error_message = "that is not google-services.json"
  }
  assert {
    condition     = output.web.appId == google_firebase_web_app.web[0].app_id
    error_message = "another app"
  }
}

run "other_machine" {
  command = plan

  variables {
    billing       = "instance"
    min_instances = 1
    max_instances = 3
    concurrency   = 1000
    cpu           = 2
    memory_mib    = 1024
  }

  assert {
    condition = (
      !google_cloud_run_v2_service.gateway.template[0].containers[0].resources[0].cpu_idle
      && google_cloud_run_v2_service.gateway.template[0].containers[0].resources[0].limits == tomap({ cpu = "2", memory = "1024Mi" })
      && google_cloud_run_v2_service.gateway.template[0].scaling[0].max_instance_count == 3
      && google_cloud_run_v2_service.gateway.scaling[0].min_instance_count == 1
    )
    error_message = "the service is not what was asked for"
  }
  assert {
    condition     = one([for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e.value if e.name == "IRIS_MAX_SOCKETS"]) == "900"
    error_message = "sockets leave nothing for health checks"
  }
}

run "retention" {
  command = plan

  variables {
    retention_days = 365
  }

  assert {
    condition     = one([for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e.value if e.name == "IRIS_RETENTION"]) == "8760h"
    error_message = "the gateway keeps things for another time"
  }
  assert {
    condition     = toset([for f in google_firestore_field.fields : f.collection if length(f.ttl_config) == 1]) == toset(["messages", "media", "tokens"])
    error_message = "not messages, media and tokens expire"
  }
}

run "telemetry" {
  command = apply

  variables {
    image         = "example.org/iris/gateway:v1"
    otlp_endpoint = "https://otel.example.org"
    otlp_headers  = "api-key=abc"
  }

  assert {
    condition     = one([for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e.value if e.name == "OTEL_EXPORTER_OTLP_ENDPOINT"]) == "https://otel.example.org"
    error_message = "telemetry goes elsewhere"
  }
  assert {
    condition = one([
      for e in google_cloud_run_v2_service.gateway.template[0].containers[0].env : e if e.name == "OTEL_EXPORTER_OTLP_HEADERS"
    ]).value_source[0].secret_key_ref[0].version == google_secret_manager_secret_version.otlp_headers[0].version
    error_message = "the headers do not come from the secret"
  }
  assert {
    condition     = google_secret_manager_secret_iam_member.gateway_reads_otlp_headers[0].role == "roles/secretmanager.secretAccessor"
    error_message = "the gateway may not read the headers"
  }
}
