/// The part of the matching records that a fetch returns.
struct FetchRange: Sendable {
  var limit: Int?
  var offset = 0
}
