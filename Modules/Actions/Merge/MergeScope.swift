import CoherenceCore

/// What a merge is about.
struct MergeScope {
  var entity: EntityDescription
  var ignoredAttributes: Set<String>
  var subsetFilter: FetchPredicate?
  var condition: FetchPredicate
  var options: MergeOptions
}
