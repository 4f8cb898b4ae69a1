# Each validation refuses what it is there for. deploytest counts them.

mock_provider "google" {}
mock_provider "google-beta" {}
mock_provider "random" {}

variables {
  project = "my-project"
}

run "project_id" {
  command = plan
  variables {
    project = "My Project"
  }
  expect_failures = [var.project]
}

run "region_is_a_zone" {
  command = plan
  variables {
    region = "us-central1-a"
  }
  expect_failures = [var.region]
}

run "name_too_long" {
  command = plan
  variables {
    name = "a-very-long-name-for-a-service"
  }
  expect_failures = [var.name]
}

run "image_without_tag" {
  command = plan
  variables {
    image = "example.org/iris/gateway"
  }
  expect_failures = [var.image]
}

run "no_image_to_roll_back_to" {
  command = plan
  variables {
    keep_images = 1
  }
  expect_failures = [var.keep_images]
}

run "billing_by_the_hour" {
  command = plan
  variables {
    billing = "hour"
  }
  expect_failures = [var.billing]
}

run "half_an_instance" {
  command = plan
  variables {
    min_instances = 0.5
  }
  expect_failures = [var.min_instances]
}

run "no_instance" {
  command = plan
  variables {
    max_instances = 0
  }
  expect_failures = [var.max_instances]
}

run "fewer_than_the_minimum" {
  command = plan
  variables {
    min_instances = 2
    max_instances = 1
  }
  expect_failures = [var.max_instances]
}

run "concurrency_above_cloud_run" {
  command = plan
  variables {
    concurrency = 1001
  }
  expect_failures = [var.concurrency]
}

run "three_cpus" {
  command = plan
  variables {
    cpu = 3
  }
  expect_failures = [var.cpu]
}

run "little_memory" {
  command = plan
  variables {
    memory_mib = 128
  }
  expect_failures = [var.memory_mib]
}

run "little_memory_for_four_cpus" {
  command = plan
  variables {
    cpu = 4
  }
  expect_failures = [var.memory_mib]
}

run "domain_with_scheme" {
  command = plan
  variables {
    domain = "https://iris.example.org"
  }
  expect_failures = [var.domain]
}

run "database_with_slash" {
  command = plan
  variables {
    database = "a/b"
  }
  expect_failures = [var.database]
}

run "database_anywhere" {
  command = plan
  variables {
    database_location = "eu"
  }
  expect_failures = [var.database_location]
}

run "short_log" {
  command = plan
  variables {
    log_entries = 15
  }
  expect_failures = [var.log_entries]
}

run "retention_of_half_a_day" {
  command = plan
  variables {
    retention_days = 0.5
  }
  expect_failures = [var.retention_days]
}

run "push_by_pigeon" {
  command = plan
  variables {
    push = "pigeon"
  }
  expect_failures = [var.push]
}

run "ntfy_with_password" {
  command = plan
  variables {
    ntfy_url = "https://me:secret@ntfy.sh"
  }
  expect_failures = [var.ntfy_url]
}

run "package_without_dot" {
  command = plan
  variables {
    android_package = "iris"
  }
  expect_failures = [var.android_package]
}

run "android_without_push" {
  command = plan
  variables {
    android_package = "org.example.iris"
    push            = "off"
  }
  expect_failures = [var.android_package]
}

run "web_without_push" {
  command = plan
  variables {
    web_app = true
    push    = "off"
  }
  expect_failures = [var.web_app]
}

run "mail_without_at" {
  command = plan
  variables {
    alert_email = "example.org"
  }
  expect_failures = [var.alert_email]
}

run "negative_budget" {
  command = plan
  variables {
    budget          = -1
    billing_account = "012345-6789AB-CDEF01"
  }
  expect_failures = [var.budget]
}

run "billing_account_name" {
  command = plan
  variables {
    billing_account = "My Billing Account"
  }
  expect_failures = [var.billing_account]
}

run "budget_without_account" {
  command = plan
  variables {
    budget = 5
  }
  expect_failures = [var.billing_account]
}

run "media_above_what_can_be_composed" {
  command = plan
  variables {
    media_max_mib = 257
  }
  expect_failures = [var.media_max_mib]
}

run "no_quota" {
  command = plan
  variables {
    media_quota_gib = 0
  }
  expect_failures = [var.media_quota_gib]
}

run "otlp_without_scheme" {
  command = plan
  variables {
    otlp_endpoint = "127.0.0.1:4318"
  }
  expect_failures = [var.otlp_endpoint]
}

run "headers_without_value" {
  command = plan
  variables {
    otlp_endpoint = "https://otel.example.org"
    otlp_headers  = "api-key"
  }
  expect_failures = [var.otlp_headers]
}

run "headers_for_nobody" {
  command = plan
  variables {
    otlp_headers = "api-key=abc"
  }
  expect_failures = [var.otlp_headers]
}
