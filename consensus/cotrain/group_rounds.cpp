#include "consensus/cotrain/group_rounds.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "base/require.hpp"

namespace laird::consensus {
namespace {

constexpr DurationNs kAskFirst = 300 * kMillisecond;
constexpr DurationNs kAskMost = 2 * kSecond;
constexpr DurationNs kModelAskedEvery = kSecond;
constexpr DurationNs kModelArrives = kSecond;  // between two parts of one
constexpr DurationNs kHelloEvery = kSecond;
constexpr DurationNs kHelloHolds = 5 * kSecond;
constexpr DurationNs kResendEvery = 200 * kMillisecond;
// What was sent less long ago is on its way: on busy boards most questions cross their answer.
constexpr DurationNs kOnItsWay = 500 * kMillisecond;
constexpr DurationNs kVoteEvery = kSecond;
// Before a group is founded its boards have not changed for so long, and all have said hello; after
// the longer time those that have not are left to come later.
constexpr DurationNs kSettled = 2 * kSecond;
constexpr DurationNs kFoundAnyway = 10 * kSecond;
// A board that says it is done has the model. If it does not send it, it has lost it.
constexpr DurationNs kDoneAnswers = 30 * kSecond;
constexpr std::size_t kAheadMax = 256;  // fragments
// Another board's message takes so long if nothing is lost: as fast as an agent takes it.
constexpr double kBytesPerSecond = 512 * 1024;
// A message that takes more than so many times as long is not waited for.
constexpr DurationNs kTakesMost = 10;
constexpr std::size_t kVotedOutMax = kGroupBoardsMax;

std::string_view text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The length of the longest message of a group, its model: x, m, v, the best, and what each told.
std::size_t bytes_max(const GroupConfig& config) {
  const std::size_t vectors = 4 + (config.tracks() ? kGroupBoardsMax : 0);
  return 65536 + 4 * vectors * config.dimension;
}

DurationNs time_for(std::size_t bytes) {
  return static_cast<DurationNs>(static_cast<double>(bytes) / kBytesPerSecond *
                                 static_cast<double>(kSecond));
}

std::uint64_t name_hash(std::string_view name, std::uint64_t attempt) {
  std::uint64_t hash = 0xCBF29CE484222325ULL ^ attempt;
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3ULL;
  return hash | 1U;
}

}  // namespace

GroupRounds::GroupRounds(const RoundsConfig& config, std::string self, std::vector<float> start,
                         std::uint64_t attempt)
    : config_(config), self_(std::move(self)), start_(std::move(start)), attempt_(attempt) {}

void GroupRounds::set_peers(const std::map<std::string, GroupPeer>& peers, TimeNs now) {
  now_at_ = now;
  bool changed = false;
  for (auto at = peers_.begin(); at != peers_.end();) {
    const bool kept = peers.count(at->first) != 0;
    changed = changed || !kept;
    at = kept ? std::next(at) : peers_.erase(at);
  }
  for (const auto& [name, state] : peers) {
    if (name == self_ || peers_.size() >= 2 * kGroupBoardsMax) continue;
    const auto [at, fresh] = peers_.try_emplace(name);
    if (!fresh && at->second.state == state) continue;
    changed = true;
    at->second.state = state;
    at->second.since = now;
    at->second.ask_every = 0;
    at->second.asked_at = -kHour;
  }
  if (changed) peers_since_ = now;
}

GroupPeer GroupRounds::state_of(const std::string& name) const {
  const auto found = peers_.find(name);
  return found == peers_.end() ? GroupPeer::kAway : found->second.state;
}

bool GroupRounds::finished() const {
  if (!model_.known()) return false;
  return final_ || (config_.rounds > 0 && model_.round() >= config_.rounds);
}

std::vector<std::string> GroupRounds::missing() const {
  std::vector<std::string> out;
  for (const GroupBoard& board : model_.boards()) {
    if (board.name != self_ && now_.count(board.name) == 0) out.push_back(board.name);
  }
  return out;
}

std::vector<std::string> GroupRounds::waits_for() const {
  if (finished() || !model_.known() || (takes_part() && own_now_.empty())) return {};
  return missing();
}

Status GroupRounds::hear(const std::string& from, std::string_view bytes, TimeNs now) {
  now_at_ = now;
  const auto peer = peers_.find(from);
  if (peer == peers_.end()) return fail(Code::kRefused, "a co-training message from no peer");
  const Result<Head> head = parse_head(bytes);
  LAIRD_TRY(head);
  if (head->kind == Kind::kModel) model_heard_at_ = now;
  if (head->fragments == 1) return take_whole(from, *head, bytes, now);
  Assembly& a = peer->second.assembling[head->kind];
  const bool same = !a.have.empty() && a.head.lineage == head->lineage &&
                    a.head.round == head->round && a.head.digest == head->digest &&
                    a.head.fragments == head->fragments;
  if (!same) {
    if ((head->fragments - 1) * kFragmentBytesMax > bytes_max(config_.model)) {
      return fail(Code::kInvalid, "a co-training message too long: is the model the same there?");
    }
    a = {};
    a.head = *head;
    a.have.assign(head->fragments, false);
  }
  a.heard_at = now;
  if (head->kind == Kind::kContribution) peer->second.said = {a.have.size(), now};
  const std::size_t at = head->fragment;
  // Far ahead of what has come, it would be kept in memory that nothing was sent for.
  if (a.have[at] || at > a.count + kAheadMax) return {};
  if (at + 1 < a.have.size() && bytes.size() != kFragmentBytesMax) {
    return fail(Code::kInvalid, "a part of a co-training message of another length");
  }
  a.bytes.resize(std::max(a.bytes.size(), at * kFragmentBytesMax + bytes.size()));
  std::copy(bytes.begin(), bytes.end(),
            a.bytes.begin() + static_cast<std::ptrdiff_t>(at * kFragmentBytesMax));
  a.have[at] = true;
  if (++a.count < a.have.size()) return {};
  const std::string whole = std::move(a.bytes);
  peer->second.assembling.erase(head->kind);
  return take_whole(from, *head, whole, now);
}

Status GroupRounds::take_whole(const std::string& from, const Head& head, std::string_view body,
                               TimeNs now) {
  switch (head.kind) {
    case Kind::kModel: return take_model(from, body, now);
    case Kind::kYours: return take_yours(head, body);
    case Kind::kAsk:
      body.empty() ? take_ask(from, head, now) : take_missing(from, body, now);
      return {};
    case Kind::kContribution:
    case Kind::kVote: break;
  }
  if (!model_.known() || head.lineage != model_.lineage()) {
    take_other_lineage(from, head, now);
    return {};
  }
  if (finished()) return {};
  return head.kind == Kind::kVote ? take_vote(from, head, body, now)
                                  : take_contribution(from, head, body, now);
}

Status GroupRounds::take_contribution(const std::string& from, const Head& head,
                                      std::string_view body, TimeNs now) {
  Peer& peer = peers_[from];
  const std::uint32_t round = model_.round();
  if (head.round <= round) return {};
  if (head.round > round + 2) {
    ask(from, peer, true, now);
    return {};
  }
  if (head.round == round + 1 && head.digest != model_.digest()) {
    // Of two boards that made one round in two ways the one with the lesser name is right.
    if (from < self_) ask(from, peer, true, now);
    return {};
  }
  Contribution read;
  Archive ar = Archive::reader(body);
  ar(read);
  if (ar.failed() || !ar.at_end()) return fail(Code::kInvalid, "a contribution cut short");
  LAIRD_TRY(model_.check(config_.model, read));
  if (head.round == round + 1) {
    if (model_.board(from) == nullptr) peer.joins_at = now;
    now_[from] = std::move(read);
  } else {
    next_[from] = std::move(read);
    // It made the round without waiting for this board's vote.
    if (vote_.round == round + 1) ask(from, peer, true, now);
  }
  advance(now);
  return {};
}

Status GroupRounds::take_yours(const Head& head, std::string_view body) {
  yours_lineage_ = head.lineage;
  yours_round_ = head.round;
  yours_ = body;
  use_yours();
  return {};
}

void GroupRounds::use_yours() {
  const bool fits = model_.known() && yours_lineage_ == model_.lineage() &&
                    yours_round_ == model_.round() + 1 && may_contribute() && !yours_.empty();
  if (!fits) return;
  const std::string bytes = std::exchange(yours_, {});
  Contribution read;
  Archive ar = Archive::reader(bytes);
  ar(read);
  if (ar.failed() || !ar.at_end() || !model_.check(config_.model, read)) return;
  own_now_ = bytes;
  now_[self_] = std::move(read);
}

Status GroupRounds::take_vote(const std::string& from, const Head& head, std::string_view body,
                              TimeNs now) {
  Peer& peer = peers_[from];
  if (head.round <= model_.round()) {
    send_model(from, peer, now);
    return {};
  }
  if (head.round > model_.round() + 1) {
    ask(from, peer, true, now);
    return {};
  }
  Vote read;
  read.round = head.round;
  Archive ar = Archive::reader(body);
  std::uint32_t count = 0;
  ar(count);
  if (count == 0 || count > kVotedOutMax) return fail(Code::kInvalid, "a vote for no board");
  read.without.resize(count);
  for (std::string& name : read.without) ar.text(name, 32);
  if (ar.failed() || !ar.at_end()) return fail(Code::kInvalid, "a vote cut short");
  peer.vote = std::move(read);
  vote(now);
  advance(now);
  return {};
}

bool GroupRounds::is_preferred(std::uint64_t lineage, std::uint32_t round,
                               std::size_t boards) const {
  if (!model_.known()) return true;
  const std::size_t own = model_.boards().size();
  if (boards != own) return boards > own;
  if (round != model_.round()) return round > model_.round();
  return lineage < model_.lineage();
}

void GroupRounds::take_other_lineage(const std::string& from, const Head& head, TimeNs now) {
  if (head.lineage == 0) return;
  Peer& peer = peers_[from];
  if (is_preferred(head.lineage, head.round, head.boards)) {
    ask(from, peer, true, now);
  } else {
    send_model(from, peer, now);
  }
}

bool GroupRounds::answers_newcomers() const {
  for (const GroupBoard& board : model_.boards()) {
    if (board.name == self_) return true;
    if (state_of(board.name) == GroupPeer::kAtWork) return false;
  }
  return true;
}

void GroupRounds::take_ask(const std::string& from, const Head& head, TimeNs now) {
  Peer& peer = peers_[from];
  if (head.lineage == 0) peer.hello_at = now;
  if (!model_.known()) {
    if (head.lineage != 0) ask(from, peer, true, now);
    return;
  }
  if (head.lineage == 0 && !head.urgent && !answers_newcomers()) return;
  if (head.lineage != model_.lineage()) {
    if (head.lineage != 0 && is_preferred(head.lineage, head.round, head.boards)) {
      ask(from, peer, true, now);
    } else {
      send_model(from, peer, now);
    }
    return;
  }
  if (model_.board(from) == nullptr) peer.joins_at = now;
  const std::uint32_t round = model_.round();
  if (head.round > round) return ask(from, peer, true, now);
  const bool behind = head.round + 1 < round || (head.round + 1 == round && own_before_.empty());
  if (head.urgent || behind || (head.round < round && (voted_before_ == round || finished()))) {
    return send_model(from, peer, now);
  }
  const TimeNs sent_at = head.round < round ? own_before_at_ : own_now_at_;
  if (now - peer.resent_at < kResendEvery || now - sent_at < kOnItsWay + takes()) return;
  peer.resent_at = now;
  if (head.round < round) return send(from, Kind::kContribution, round, own_before_);
  if (!own_now_.empty()) send(from, Kind::kContribution, round + 1, own_now_);
}

Status GroupRounds::take_model(const std::string& from, std::string_view body, TimeNs now) {
  Result<GroupModel> read = GroupModel::load(config_.model, body);
  LAIRD_TRY(read);
  if (finished()) return {};
  const bool final = state_of(from) == GroupPeer::kDone;
  if (config_.rounds > 0 && read->round() > config_.rounds) {
    return fail(Code::kInvalid,
                "a model of a round beyond the planned ones: are they as many there?");
  }
  bool newer =
      !model_.known() || read->lineage() != model_.lineage()
          ? is_preferred(read->lineage(), read->round(), read->boards().size())
          : read->round() > model_.round() || (read->round() == model_.round() && from < self_ &&
                                               read->digest() != model_.digest());
  // A board that is done has the group's last model; a newer one would mean that others went on.
  if (final) newer = !model_.known() || read->round() >= model_.round();
  if (newer) adopt(std::move(*read), final, now);
  return {};
}

void GroupRounds::adopt(GroupModel model, bool final, TimeNs now) {
  const bool next =
      model_.known() && model.lineage() == model_.lineage() && model.round() == model_.round() + 1;
  model_ = std::move(model);
  start_ = {};
  final_ = final;
  now_ = next ? std::move(next_) : Contributions{};
  next_.clear();
  own_now_.clear();
  own_before_.clear();
  own_now_at_ = own_before_at_ = -kHour;
  vote_ = {};
  waiting_since_ = now;
  hello_at_ = -kHour;
  for (auto& [name, peer] : peers_) peer.ask_every = 0;
  use_yours();
  advance(now);
}

void GroupRounds::advance(TimeNs now) {
  while (model_.known() && !finished()) {
    const bool voted = vote_.round == model_.round() + 1;
    if (voted && !is_voted_by_all()) return;
    if (!voted && (!missing().empty() || (takes_part() && own_now_.empty()))) return;
    apply(voted ? vote_.without : std::vector<std::string>{}, now);
  }
}

bool GroupRounds::is_voted_by_all() const {
  const std::set<std::string> out(vote_.without.begin(), vote_.without.end());
  for (const GroupBoard& board : model_.boards()) {
    if (out.count(board.name) != 0) continue;
    if (now_.count(board.name) == 0) return false;
    if (board.name == self_) continue;
    const auto peer = peers_.find(board.name);
    if (peer == peers_.end() || peer->second.vote.round != vote_.round ||
        peer->second.vote.without != vote_.without) {
      return false;
    }
  }
  return true;
}

void GroupRounds::apply(const std::vector<std::string>& without, TimeNs now) {
  std::vector<std::string> left;
  for (const std::string& name : without) {
    if (state_of(name) == GroupPeer::kLeft) left.push_back(name);
  }
  digest_before_ = model_.digest();
  model_.apply(config_.model, now_, without, left);
  if (!without.empty()) voted_before_ = model_.round();
  now_ = std::exchange(next_, {});
  own_before_ = std::exchange(own_now_, {});
  own_before_at_ = std::exchange(own_now_at_, -kHour);
  vote_ = {};
  waiting_since_ = now;
  for (auto& [name, peer] : peers_) peer.ask_every = 0;
}

bool GroupRounds::may_contribute() const {
  return model_.known() && !finished() && takes_part() && own_now_.empty();
}

void GroupRounds::contribute(std::vector<float>& wanted, double weight, const Judgement& judged,
                             TimeNs now) {
  LAIRD_REQUIRE(may_contribute(), "the caller asks first");
  Contribution own;
  own.weight = weight;
  own.judged = judged;
  for (const auto& [name, peer] : peers_) {
    const bool joins = model_.board(name) == nullptr && now - peer.joins_at < 3 * kHelloEvery;
    if (joins && own.adds.size() < 8) own.adds.push_back(name);
  }
  own.changes = model_.changes_of(config_.model, self_, wanted);
  Bytes bytes;
  Archive ar = Archive::writer(bytes);
  ar(own);
  own_now_ = std::string(text(bytes));
  own_now_at_ = now;
  now_[self_] = std::move(own);
  waiting_since_ = now;
  send({}, Kind::kContribution, model_.round() + 1, own_now_);
  advance(now);
}

bool GroupRounds::may_leave_out(std::size_t count, bool all_left) const {
  const std::size_t boards = model_.boards().size();
  if (count >= boards) return false;
  const std::size_t remain = boards - count;
  if (config_.quorum) return remain >= *config_.quorum;
  if (config_.wait) return remain >= 2 && 2 * remain > boards + model_.away();
  return remain >= 2 && all_left;
}

bool GroupRounds::is_to_be_left_out(const std::string& name, TimeNs now) const {
  const GroupPeer state = state_of(name);
  if (state == GroupPeer::kLeft) return true;
  if (state == GroupPeer::kDone) return now - peers_.at(name).since >= kDoneAnswers;
  const std::optional<DurationNs> wait =
      config_.wait ? config_.wait
                   : (config_.quorum ? std::optional<DurationNs>(kWaitWithQuorum) : std::nullopt);
  return wait && now - silent_since(name) >= *wait;
}

TimeNs GroupRounds::silent_since(const std::string& name) const {
  const auto peer = peers_.find(name);
  TimeNs out = waiting_since_;
  if (peer == peers_.end()) return out;
  for (const LastPart& last : {peer->second.said, peer->second.got}) {
    const DurationNs most = kTakesMost * time_for(last.parts * kFragmentBytesMax);
    out = std::max(out, std::min(last.at, waiting_since_ + most));
  }
  return out;
}

// Says without whom this board would make the next round. It keeps to that: it does not make the
// round with them any more.
void GroupRounds::vote(TimeNs now) {
  if (!takes_part() || own_now_.empty() || finished()) return;
  const std::uint32_t round = model_.round() + 1;
  std::set<std::string> out;
  bool all_left = true;
  const std::vector<std::string> absent = missing();
  for (const std::string& name : absent) {
    if (!is_to_be_left_out(name, now)) continue;
    out.insert(name);
    all_left =
        all_left && state_of(name) != GroupPeer::kAtWork && state_of(name) != GroupPeer::kAway;
  }
  if (vote_.round == round) out.insert(vote_.without.begin(), vote_.without.end());
  if (out.empty()) return;
  // What another one votes for this one does too, or two that lack different boards never agree.
  for (const auto& [name, peer] : peers_) {
    if (peer.vote.round != round || out.count(name) != 0 || model_.board(name) == nullptr) continue;
    for (const std::string& other : peer.vote.without) {
      if (other == self_ || model_.board(other) == nullptr) continue;
      if (!out.insert(other).second) continue;
      const GroupPeer state = state_of(other);
      all_left = all_left && state != GroupPeer::kAtWork && state != GroupPeer::kAway;
    }
  }
  if (!may_leave_out(out.size(), all_left)) return;
  std::vector<std::string> without(out.begin(), out.end());
  const bool changed = vote_.round != round || vote_.without != without;
  if (!changed && now - voted_at_ < kVoteEvery) return;
  vote_ = {round, std::move(without)};
  voted_at_ = now;
  Bytes body;
  Archive ar = Archive::writer(body);
  auto count = static_cast<std::uint32_t>(vote_.without.size());
  ar(count);
  for (std::string& name : vote_.without) ar.text(name, 32);
  send({}, Kind::kVote, round, text(body));
}

void GroupRounds::ask(const std::string& to, Peer& peer, bool urgent, TimeNs now) {
  if (urgent) {
    const bool arriving =
        now - model_heard_at_ < kModelArrives || is_arriving(peer, Kind::kModel, now);
    if (arriving || now - model_asked_at_ < kModelAskedEvery) return;
    model_asked_at_ = now;
    peer.asked_at = now;
    return send(to, Kind::kAsk, model_.round(), {}, true);
  }
  if (now - peer.asked_at < std::max(peer.ask_every, kAskFirst)) return;
  peer.asked_at = now;
  peer.ask_every =
      std::min(kAskMost, std::max(kAskFirst, peer.ask_every + peer.ask_every / 2)) + 2 * takes();
  send(to, Kind::kAsk, model_.round(), {}, urgent);
}

DurationNs GroupRounds::takes() const {
  const std::size_t bytes = std::max(own_now_.size(), own_before_.size());
  if (bytes <= kFragmentBytesMax) return 0;
  return time_for(bytes);
}

void GroupRounds::found(TimeNs now) {
  std::vector<std::string> boards = {self_};
  bool all = true;
  for (const auto& [name, peer] : peers_) {
    if (peer.state == GroupPeer::kDone && now - peer.since < kDoneAnswers) return;
    if (peer.state != GroupPeer::kAtWork) continue;
    if (name < self_) return;
    if (now - peer.hello_at < kHelloHolds && boards.size() < kGroupBoardsMax) {
      boards.push_back(name);
    } else {
      all = false;
    }
  }
  if (boards.size() < config_.quorum.value_or(2)) return;
  if (now - peers_since_ < (all ? kSettled : kFoundAnyway)) return;
  model_ = GroupModel(config_.model, name_hash(self_, attempt_), std::exchange(start_, {}), boards);
  waiting_since_ = now;
  // Once for all of them.
  for (auto& [name, peer] : peers_) peer.answered_at = now;
  const Fragments model = model_fragments(now);
  for (std::size_t k = 0; k < model->size(); ++k) parcels_.push_back({{}, model, k});
  send_parcels(now);
}

TimeNs GroupRounds::look_for_group(TimeNs now) {
  if (!model_.known()) found(now);
  if (model_.known() && takes_part()) return now;
  if (now - hello_at_ >= kHelloEvery) {
    hello_at_ = now;
    ++hellos_;
    send({}, Kind::kAsk, model_.round(), {});
    // Who is done has the model for certain; whoever is at work may know less than this board.
    std::vector<std::string> others;
    for (const auto& [name, peer] : peers_) {
      if (peer.state == GroupPeer::kDone) others.push_back(name);
    }
    for (const auto& [name, peer] : peers_) {
      const bool helps = !model_.known() && hellos_ > 4;
      if (peer.state == GroupPeer::kAtWork && helps) others.push_back(name);
    }
    if (!others.empty()) {
      const std::string& name = others[(hellos_ - 1) % others.size()];
      ask(name, peers_[name], true, now);
    }
  }
  return hello_at_ + kHelloEvery;
}

TimeNs GroupRounds::tick(TimeNs now) {
  now_at_ = now;
  send_parcels(now);
  ask_for_missing(now);
  TimeNs next = parcels_.empty() ? kNever : parcels_at_ + kParcelsEvery;
  if (finished()) return next;
  if (!model_.known() || !takes_part()) {
    next = std::min(next, look_for_group(now));
    return std::max(next, now + kMillisecond);
  }
  advance(now);
  if (finished() || own_now_.empty()) return next;
  vote(now);
  advance(now);
  for (const std::string& name : missing()) {
    const auto found = peers_.find(name);
    if (found == peers_.end() || found->second.state == GroupPeer::kLeft) continue;
    Peer& peer = found->second;
    if (is_arriving(peer, Kind::kContribution, now)) continue;
    if (now - waiting_since_ >= kAskFirst + takes()) {
      if (peer.ask_every == 0) peer.asked_at = std::min(peer.asked_at, now - kAskFirst);
      ask(name, peer, false, now);
    }
    next = std::min(next,
                    std::max(waiting_since_ + kAskFirst + takes(), peer.asked_at + peer.ask_every));
  }
  next = std::min(next, now + kVoteEvery);
  return std::max(next, now + kMillisecond);
}

}  // namespace laird::consensus
