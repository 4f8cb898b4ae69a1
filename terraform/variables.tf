variable "project" {
  description = "Id of the Google Cloud project. It must exist and have billing."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "A project id has 6 to 30 lower-case letters, digits and hyphens, such as my-project-123."
  }
}

variable "region" {
  description = "Where everything runs, near the people who use it. The domain mapping and the price depend on it."
  type        = string
  default     = "us-central1"

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region is like us-central1 or europe-west1."
  }
}

variable "name" {
  description = "Name of the service, and the beginning of the names of all that belongs to it."
  type        = string
  default     = "iris"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,18}[a-z0-9]$", var.name))
    error_message = "The name has 4 to 20 lower-case letters, digits and hyphens."
  }
}

variable "image" {
  description = "Image of the gateway to begin with. Empty: the first apply builds it from this source, with gcloud."
  type        = string
  default     = ""

  validation {
    condition     = var.image == "" || can(regex("^[a-z0-9.-]+(/[a-z0-9._-]+)+(:[A-Za-z0-9._-]+|@sha256:[0-9a-f]{64})$", var.image))
    error_message = "The image needs a registry and a tag or digest, such as us-central1-docker.pkg.dev/p/iris/gateway:v1."
  }
}

variable "keep_images" {
  description = "How many of the newest images stay when older ones than 30 days are deleted."
  type        = number
  default     = 10

  validation {
    condition     = var.keep_images >= 2 && var.keep_images <= 100 && floor(var.keep_images) == var.keep_images
    error_message = "Keep from 2 (so that one can roll back) to 100 images."
  }
}

# The service

variable "billing" {
  description = "request: pay while a socket is open. instance: pay while an instance exists, at a lower price; docs/cost.md says from when on that is cheaper."
  type        = string
  default     = "request"

  validation {
    condition     = contains(["request", "instance"], var.billing)
    error_message = "Billing is request or instance."
  }
}

variable "min_instances" {
  description = "Instances that always run. 0: none while nobody is connected; the first to come waits for a cold start."
  type        = number
  default     = 0

  validation {
    condition     = var.min_instances >= 0 && var.min_instances <= 10 && floor(var.min_instances) == var.min_instances
    error_message = "From 0 to 10 instances."
  }
}

variable "max_instances" {
  description = "Instances at most. One carries some hundred sockets; two at once cost twice as much."
  type        = number
  default     = 1

  validation {
    condition     = var.max_instances >= 1 && var.max_instances <= 100 && floor(var.max_instances) == var.max_instances
    error_message = "From 1 to 100 instances."
  }

  validation {
    condition     = var.max_instances >= var.min_instances
    error_message = "max_instances must not be less than min_instances."
  }
}

variable "concurrency" {
  description = "Requests that an instance takes at once. Nine tenths of them may be sockets."
  type        = number
  default     = 250

  validation {
    condition     = var.concurrency >= 20 && var.concurrency <= 1000 && floor(var.concurrency) == var.concurrency
    error_message = "From 20 to 1000 requests."
  }
}

variable "cpu" {
  description = "Virtual CPUs of an instance."
  type        = number
  default     = 1

  validation {
    condition     = contains([1, 2, 4], var.cpu)
    error_message = "1, 2 or 4 CPUs; with less than one Cloud Run lets in a single socket."
  }
}

variable "memory_mib" {
  description = "Memory of an instance in MiB."
  type        = number
  default     = 512

  validation {
    condition     = contains([512, 1024, 2048, 4096], var.memory_mib)
    error_message = "512, 1024, 2048 or 4096 MiB."
  }

  validation {
    condition     = var.cpu < 4 || var.memory_mib >= 2048
    error_message = "4 CPUs need at least 2048 MiB."
  }
}

variable "domain" {
  description = "An address of your own for the gateway, such as iris.example.org. Empty: only the one that Cloud Run gives."
  type        = string
  default     = ""

  validation {
    condition     = var.domain == "" || can(regex("^([a-z0-9]([a-z0-9-]*[a-z0-9])?\\.)+[a-z]{2,}$", var.domain))
    error_message = "The domain is a host name, without https:// and path, such as iris.example.org."
  }
}

# What is kept

variable "database" {
  description = "Name of the Firestore database. Only one database of a project has a free quota: (default), if you have none yet."
  type        = string
  default     = "(default)"

  validation {
    condition     = var.database == "(default)" || can(regex("^[a-z][a-z0-9-]{2,61}[a-z0-9]$", var.database))
    error_message = "The database is (default), or has 4 to 63 lower-case letters, digits and hyphens."
  }
}

variable "database_location" {
  description = "Where the database is, for ever. Empty: in the region; nam5 and eur3 are in several."
  type        = string
  default     = ""

  validation {
    condition     = contains(["", "nam5", "eur3"], var.database_location) || can(regex("^[a-z]+-[a-z]+[0-9]+$", var.database_location))
    error_message = "A location of Firestore is a region such as europe-west1, or nam5 or eur3."
  }
}

variable "keep_data" {
  description = "Whether destroy leaves database and bucket as they are. Set to false and apply before you destroy for good."
  type        = bool
  default     = true
}

variable "point_in_time_recovery" {
  description = "Whether the database can be put back to any minute of the last seven days. It costs as much again as the storage."
  type        = bool
  default     = false
}

variable "log_entries" {
  description = "How many log entries a phone may be behind and still be told all of them (IRIS_LOG_ENTRIES)."
  type        = number
  default     = 2048

  validation {
    condition     = var.log_entries >= 16 && var.log_entries <= 1048576 && floor(var.log_entries) == var.log_entries
    error_message = "From 16 to 1048576 entries."
  }
}

variable "retention_days" {
  description = "How many days messages and media are kept (IRIS_RETENTION). 0: for ever. What is there keeps the time it got."
  type        = number
  default     = 0

  validation {
    condition     = var.retention_days >= 0 && var.retention_days <= 36500 && floor(var.retention_days) == var.retention_days
    error_message = "From 1 to 36500 whole days, or 0 for ever."
  }
}

variable "media_max_mib" {
  description = "How large a picture, voice message or file may be, in MiB. 0: there are none (IRIS_MEDIA_MAX_BYTES)."
  type        = number
  default     = 64

  validation {
    condition     = var.media_max_mib >= 0 && var.media_max_mib <= 256 && floor(var.media_max_mib) == var.media_max_mib
    error_message = "From 0 to 256 MiB."
  }
}

variable "media_quota_gib" {
  description = "How much media a gateway may keep, in GiB (IRIS_MEDIA_QUOTA)."
  type        = number
  default     = 5

  validation {
    condition     = var.media_quota_gib >= 1 && var.media_quota_gib <= 1024 && floor(var.media_quota_gib) == var.media_quota_gib
    error_message = "From 1 to 1024 GiB."
  }
}

# Pushes

variable "push" {
  description = "fcm: phones are woken by Firebase Cloud Messaging. off: they are not (IRIS_PUSH)."
  type        = string
  default     = "fcm"

  validation {
    condition     = contains(["fcm", "off"], var.push)
    error_message = "Push is fcm or off."
  }
}

variable "push_preview" {
  description = "Whether pushes tell what they are about; Google can read that (IRIS_PUSH_PREVIEW)."
  type        = bool
  default     = true
}

variable "ntfy_url" {
  description = "An ntfy server for phones without FCM, such as https://ntfy.sh (IRIS_NTFY_URL)."
  type        = string
  default     = ""

  validation {
    condition     = var.ntfy_url == "" || can(regex("^https?://[^/?#@]+(/[^?#]*)?$", var.ntfy_url))
    error_message = "The address is like https://ntfy.sh, without user, password and query."
  }
}

variable "android_package" {
  description = "Package name of the Android app that pushes are for, such as org.example.iris. Empty: no app is registered."
  type        = string
  default     = ""

  validation {
    condition     = var.android_package == "" || can(regex("^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)+$", var.android_package))
    error_message = "A package name has at least two parts, such as org.example.iris."
  }

  validation {
    condition     = var.android_package == "" || var.push == "fcm"
    error_message = "An Android app is registered for pushes: it needs push = \"fcm\"."
  }
}

variable "web_app" {
  description = "Whether a web app is registered for pushes."
  type        = bool
  default     = false

  validation {
    condition     = !var.web_app || var.push == "fcm"
    error_message = "A web app is registered for pushes: it needs push = \"fcm\"."
  }
}

# Watching

variable "alert_email" {
  description = "Where alerts go. Empty: there are none."
  type        = string
  default     = ""

  validation {
    condition     = var.alert_email == "" || can(regex("^[^@ ]+@[^@ ]+\\.[^@ ]+$", var.alert_email))
    error_message = "That is no mail address."
  }
}

variable "otlp_endpoint" {
  description = "Where traces and metrics go, as OTLP over HTTP, such as https://otel.example.org:4318. Empty: nowhere."
  type        = string
  default     = ""

  validation {
    condition     = var.otlp_endpoint == "" || can(regex("^https?://[^/?#@]+(/[^?#]*)?$", var.otlp_endpoint))
    error_message = "The address is like https://otel.example.org:4318, without user, password and query."
  }
}

variable "otlp_headers" {
  description = "Headers for otlp_endpoint, such as api-key=abc,other=def. They are kept as a secret."
  type        = string
  default     = ""
  sensitive   = true

  validation {
    condition     = var.otlp_headers == "" || can(regex("^[^=, ]+=[^, ]*(,[^=, ]+=[^, ]*)*$", var.otlp_headers))
    error_message = "The headers are like api-key=abc,other=def."
  }

  validation {
    condition     = var.otlp_headers == "" || var.otlp_endpoint != ""
    error_message = "Headers need otlp_endpoint."
  }
}

variable "budget" {
  description = "Money a month, in the currency of the billing account, of which 50, 90 and 100 % are told by mail. 0: no budget."
  type        = number
  default     = 0

  validation {
    condition     = var.budget >= 0 && floor(var.budget) == var.budget
    error_message = "The budget is a whole number, or 0 for none."
  }
}

variable "billing_account" {
  description = "Billing account of the project, for the budget."
  type        = string
  default     = ""

  validation {
    condition     = var.billing_account == "" || can(regex("^[0-9A-F]{6}-[0-9A-F]{6}-[0-9A-F]{6}$", var.billing_account))
    error_message = "A billing account is like 012345-6789AB-CDEF01 (`gcloud billing accounts list`)."
  }

  validation {
    condition     = var.budget == 0 || var.billing_account != ""
    error_message = "A budget needs billing_account."
  }
}
