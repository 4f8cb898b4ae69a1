# The gateway itself, on Cloud Run.

locals {
  # What differs from the defaults of server/config.go. Those not here are for
  # tests and other places than Cloud Run; deploytest says which and why.
  settings = {
    IRIS_PROJECT         = var.project
    IRIS_DATABASE        = google_firestore_database.iris.name
    IRIS_PUBLIC_URL      = var.domain != "" ? "https://${var.domain}" : ""
    IRIS_PUSH            = var.push
    IRIS_PUSH_PREVIEW    = tostring(var.push_preview)
    IRIS_NTFY_URL        = var.ntfy_url
    IRIS_LOG_ENTRIES     = tostring(var.log_entries)
    IRIS_RETENTION       = var.retention_days == 0 ? "" : "${var.retention_days * 24}h"
    IRIS_MAX_SOCKETS     = tostring(local.max_sockets)
    IRIS_BUCKET          = google_storage_bucket.media.name
    IRIS_MEDIA_MAX_BYTES = tostring(var.media_max_mib * 1024 * 1024)
    IRIS_MEDIA_QUOTA     = tostring(var.media_quota_gib * 1024 * 1024 * 1024)

    OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint
  }

  # A socket is a request to Cloud Run. A tenth of the requests stays free for
  # everything else: health checks, pairing, the operator.
  max_sockets = floor(var.concurrency * 0.9)
}

resource "google_cloud_run_v2_service" "gateway" {
  name                = var.name
  location            = var.region
  ingress             = "INGRESS_TRAFFIC_ALL"
  deletion_protection = false # what must be kept is not in here

  # Anyone may knock: the gateway asks every socket and request for its token.
  invoker_iam_disabled = true

  scaling {
    min_instance_count = var.min_instances
  }

  template {
    service_account                  = google_service_account.gateway.email
    timeout                          = "3600s" # sockets; the gateway closes them a little earlier
    session_affinity                 = true
    max_instance_request_concurrency = var.concurrency

    scaling {
      max_instance_count = var.max_instances
    }

    containers {
      image = local.first_image

      resources {
        limits = {
          cpu    = tostring(var.cpu)
          memory = "${var.memory_mib}Mi"
        }
        cpu_idle          = var.billing == "request"
        startup_cpu_boost = true
      }

      ports {
        container_port = 8080
      }

      dynamic "env" {
        for_each = { for name, value in local.settings : name => value if value != "" }
        content {
          name  = env.key
          value = env.value
        }
      }

      env {
        name = "IRIS_ADMIN_TOKEN"
        value_source {
          secret_key_ref {
            secret  = google_secret_manager_secret.admin_token.secret_id
            version = google_secret_manager_secret_version.admin_token.version
          }
        }
      }

      dynamic "env" {
        for_each = google_secret_manager_secret_version.otlp_headers
        content {
          name = "OTEL_EXPORTER_OTLP_HEADERS"
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.otlp_headers[0].secret_id
              version = env.value.version
            }
          }
        }
      }

      # It answers once the store does, for which the gateway waits 30 s.
      startup_probe {
        period_seconds    = 1
        timeout_seconds   = 1
        failure_threshold = 40
        http_get {
          path = "/health"
        }
      }

      liveness_probe {
        period_seconds    = 60
        timeout_seconds   = 10
        failure_threshold = 3
        http_get {
          path = "/health"
        }
      }
    }
  }

  lifecycle {
    # Cloud Build deploys new images and moves the traffic.
    ignore_changes = [client, client_version, template[0].containers[0].image, traffic]
  }

  # Without these the first instance could not start.
  depends_on = [
    google_project_iam_member.gateway_database,
    google_project_iam_member.gateway_push,
    google_storage_bucket_iam_member.gateway_media,
    google_secret_manager_secret_iam_member.gateway_reads_admin_token,
    google_secret_manager_secret_iam_member.gateway_reads_otlp_headers,
    terraform_data.first_image,
  ]
}
