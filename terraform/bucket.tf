# Pictures, voice and files. Only the gateway reaches them.

resource "google_storage_bucket" "media" {
  name                        = "${var.project}-${var.name}-media"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = !var.keep_data
  deletion_policy             = var.keep_data ? "ABANDON" : "DELETE"

  # Parts of uploads that were never finished, but the first ones.
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age            = 1
      matches_prefix = ["uploads/"]
    }
  }

  # First parts of uploads that were never finished, and media that have expired: their
  # custom time says when. That of a medium is set for good when it is complete, by
  # retention_days. The rows that name media go by the database's time-to-live, or
  # with the next upload, before their bytes.
  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_custom_time = 1
      matches_prefix         = ["media/"]
    }
  }

  # What a person deletes is deleted.
  soft_delete_policy {
    retention_duration_seconds = 0
  }

  depends_on = [google_project_service.apis]
}

resource "google_storage_bucket_iam_member" "gateway_media" {
  bucket = google_storage_bucket.media.name
  role   = "roles/storage.objectUser"
  member = google_service_account.gateway.member
}
