/// Which part of what is found is wanted.
struct FetchRange: Sendable {
  var limit: Int?
  var offset = 0
}
