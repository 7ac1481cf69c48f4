/// The part of the matching records that a fetch returns.
struct RecordRange: Sendable {
  var limit: Int?
  var offset = 0
}
