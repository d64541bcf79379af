#include "schedules/plan_sections.h"

namespace reshard::codec {
namespace {

void AddNames(const std::vector<std::string>& names, format::Names* message) {
  NameWriter writer(message);
  for (const std::string& name : names) writer.Add(name);
}

void AddOptions(const Options& options, format::Options& message) {
  message.set_planner(options.planner);
  message.set_staging_bytes(options.staging_bytes);
  message.set_chunk_bytes(options.chunk_bytes);
  message.set_max_ops_per_group(options.max_ops_per_group);
  message.set_max_peers(options.max_peers);
  message.set_nic_share(options.nic_share);
}

Options ReadOptions(const format::Options& message) {
  Options options;
  options.planner = message.planner();
  options.staging_bytes = message.staging_bytes();
  options.chunk_bytes = message.chunk_bytes();
  options.max_ops_per_group = message.max_ops_per_group();
  options.max_peers = message.max_peers();
  options.nic_share = message.nic_share();
  return options;
}

void AddCertificate(const Certificate& certificate, format::Certificate& message) {
  message.set_bound_seconds(certificate.lower_bound.seconds);
  message.set_bound_name(certificate.lower_bound.name);
  message.set_bound_description(certificate.lower_bound.description);
  message.set_predicted_seconds(certificate.predicted_seconds);
  message.set_constants_digest(certificate.constants_digest);
  message.set_staging_bytes_max(certificate.staging_bytes_max);
  message.set_ops_per_group_max(certificate.ops_per_group_max);
  message.set_peers_max(certificate.peers_max);
}

Certificate ReadCertificate(const format::Certificate& message) {
  Certificate certificate;
  certificate.lower_bound = {message.bound_seconds(), message.bound_name(),
                             message.bound_description()};
  certificate.predicted_seconds = message.predicted_seconds();
  certificate.constants_digest = message.constants_digest();
  certificate.staging_bytes_max = message.staging_bytes_max();
  certificate.ops_per_group_max = message.ops_per_group_max();
  certificate.peers_max = message.peers_max();
  return certificate;
}

}  // namespace

std::string EncodeHeader(const Plan& plan) {
  format::Header message;
  message.set_job_digest(plan.job_digest);
  message.set_round_count(plan.round_count);
  AddOptions(plan.job.options, *message.mutable_options());
  AddCertificate(plan.certificate, *message.mutable_certificate());
  message.mutable_channels()->set_max_p2p_peers(plan.channels.max_p2p_peers);
  message.mutable_channels()->set_channels_per_net_peer(plan.channels.channels_per_net_peer);
  AddNames(plan.notices.untouched, message.mutable_untouched());
  AddNames(plan.notices.lacking, message.mutable_lacking());
  AddNames(plan.notices.recompute, message.mutable_recompute());
  return Serialize(message);
}

Result<void> DecodeHeader(std::string_view bytes, const SectionContext& context, Plan& plan) {
  const auto message = Parse<format::Header>(bytes, context);
  if (!message) return tl::unexpected(message.error());
  plan.job_digest = message->job_digest();
  plan.round_count = message->round_count();
  plan.job.options = ReadOptions(message->options());
  plan.certificate = ReadCertificate(message->certificate());
  plan.channels = {message->channels().max_p2p_peers(),
                   message->channels().channels_per_net_peer()};
  const auto read = [&context](const format::Names& names, std::vector<std::string>& out) {
    auto decoded = ReadNames(names, context);
    if (decoded) out = std::move(*decoded);
    return decoded ? Result<void>() : tl::unexpected(decoded.error());
  };
  if (auto done = read(message->untouched(), plan.notices.untouched); !done) return done;
  if (auto done = read(message->lacking(), plan.notices.lacking); !done) return done;
  return read(message->recompute(), plan.notices.recompute);
}

}  // namespace reshard::codec
